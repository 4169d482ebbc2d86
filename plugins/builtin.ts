/** Offered unless switched off. A new engine is a line here. */
export { default as claude } from './claude.ts';
export { default as codex } from './codex.ts';
export { default as copilot } from './copilot.ts';
export { default as cursorAgent } from './cursor-agent.ts';
export { default as gemini } from './gemini.ts';
export { default as geminiCli } from './gemini-cli.ts';
export { default as grok } from './grok.ts';
export { default as mistral } from './mistral.ts';
