import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';

const agentSchema = z.looseObject({ agent_id: z.string() });

const contentSchema = z.strictObject({
  uri: z.string(),
  mimeType: z.string(),
  text: z.string()
});

/** How each answer of the engine rehearsal begins. */
export const beginning = 'Rehearsal, no model was asked.\n';

/** Starts agents and reads what there is of them, by the SDK's client. */
export class ResourceReader {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async call(name: string, input: Record<string, unknown>): Promise<unknown> {
    const asked = { name, arguments: input };
    return (await this.client.callTool(asked)).structuredContent;
  }

  /** The id of an agent that follows a script. */
  async spawn(prompt: string): Promise<string> {
    const answer = await this.call('spawn_rehearsal', { prompt });
    return agentSchema.parse(answer).agent_id;
  }

  /** The same when it has ended. */
  async run(prompt: string): Promise<string> {
    const id = await this.spawn(prompt);
    await this.call('wait_for_agents', { agent_ids: [id] });
    return id;
  }

  async read(uri: string) {
    const { contents } = await this.client.readResource({ uri });
    return contents.map((content) => contentSchema.parse(content));
  }

  async textOf(uri: string): Promise<string> {
    return (await this.read(uri))[0]?.text ?? '';
  }
}
