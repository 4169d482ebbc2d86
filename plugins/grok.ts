import type { ApiEngine } from '../src/plugin/plugin.ts';
import { askResponses } from './shared/responses-api.ts';

const newest = 'grok-4.7';

/** Grok, through the Responses API of xAI. */
export default {
  kind: 'api',
  name: 'grok',
  label: 'Grok',
  description: 'Fast answers, research, second opinions, by xAI.',
  keyNames: ['XAI_API_KEY', 'GROK_API_KEY', 'X_API_KEY'],
  keyUrl: 'https://console.x.ai',
  models: {
    default: newest,
    retired: { 'grok-3': newest, 'grok-3-fast': newest }
  },
  prices: 'x-ai',
  generate: (request, tools) =>
    askResponses(request, tools, 'https://api.x.ai/v1'),
  failure: (said) => {
    if (/incorrect api key/i.test(said)) return 'auth';
    if (/credits|spending limit/i.test(said)) return 'quota';
    return /maximum prompt length/i.test(said) ? 'context_too_long' : undefined;
  }
} satisfies ApiEngine;
