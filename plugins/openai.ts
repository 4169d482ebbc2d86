import type { ApiEngine } from '../src/plugin/plugin.ts';
import { askResponses } from './shared/responses-api.ts';

/** OpenAI's models by API; for work on files there is the engine `codex`. */
export default {
  kind: 'api',
  name: 'openai',
  label: 'OpenAI',
  description: 'Reasoning, analysis and second opinions, by OpenAI.',
  keyNames: ['OPENAI_API_KEY'],
  keyUrl: 'https://platform.openai.com/api-keys',
  models: { default: 'gpt-5.6-sol' },
  prices: 'openai',
  generate: (request, tools) =>
    askResponses(request, tools, 'https://api.openai.com/v1')
} satisfies ApiEngine;
