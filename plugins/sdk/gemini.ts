/**
 * The one without the cloud's logins and files, which we do not use; nor does
 * it take another address or login from the environment.
 */
export { GoogleGenAI } from '@google/genai/web';
