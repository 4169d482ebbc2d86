/** Offered when the configuration or a flag names them, or a key is there. */
export { default as claudeApi } from './claude-api.ts';
export { default as openai } from './openai.ts';
export { default as rehearsal } from './rehearsal.ts';
