/**
 * The build for browsers. It lacks cloud logins and files, which we do not use,
 * and reads no address or login from the environment.
 */
export { GoogleGenAI } from '@google/genai/web';
