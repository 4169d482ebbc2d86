/** Messages alone, as the SDK's own clients for other clouds are made. */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { Messages } from '@anthropic-ai/sdk/resources/messages';
