import type { ApiEngine } from '../src/plugin.ts';
import { askResponses } from './responses-api.ts';

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
    // Retired by xAI; whoever still asks for them gets today's.
    aliases: { 'grok-3': newest, 'grok-3-fast': newest }
  },
  prices: 'x-ai',
  generate: (request, tools) =>
    askResponses(request, tools, 'https://api.x.ai/v1')
} satisfies ApiEngine;
