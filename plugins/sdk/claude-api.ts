/** Only the API of messages, as in the SDK's own clients for other clouds. */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { Messages } from '@anthropic-ai/sdk/resources/messages';
