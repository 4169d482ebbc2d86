import { expect } from 'vitest';
import type { McpClient } from '../servers/mcp-client.ts';

/**
 * Calls and answers as a page shows them: a block `text` of tools' names with
 * their inputs is called, one after the other, and the block `json` behind it
 * is what comes back in the end. Ids of the page stand for the real ones,
 * `…` for anything.
 */
export class ShownTalk {
  readonly #server: Pick<McpClient, 'call'>;
  readonly #ids = new Map<string, string>();

  constructor(server: Pick<McpClient, 'call'>) {
    this.#server = server;
  }

  /** @returns how many calls there were */
  async play(blocks: { language: string; body: string }[]): Promise<number> {
    let calls = 0;
    for (const [index, { language, body }] of blocks.entries()) {
      if (language !== 'text') continue;
      const shown = callsIn(body);
      for (const [nth, { tool, input }] of shown.entries()) {
        calls += 1;
        const { data, text } = await this.#server.call(
          tool,
          JSON.parse(this.#real(input))
        );
        expect(JSON.parse(text)).toEqual(data);
        const next = blocks[index + 1];
        if (next?.language === 'json' && nth === shown.length - 1)
          this.#compare(JSON.parse(next.body), data, tool);
        else expect(data.error).toBeUndefined();
      }
    }
    return calls;
  }

  #compare(shown: unknown, real: unknown, path: string): void {
    if (typeof shown === 'string') this.#compareText(shown, real, path);
    else if (Array.isArray(shown) && Array.isArray(real)) {
      expect(real, path).toHaveLength(shown.length);
      for (const [index, part] of shown.entries())
        this.#compare(part, real[index], `${path}[${index}]`);
    } else if (isObject(shown) && isObject(real)) {
      expect(Object.keys(real), path).toEqual(Object.keys(shown));
      for (const [key, part] of Object.entries(shown))
        this.#compare(part, real[key], `${path}.${key}`);
    } else expect(real, path).toEqual(shown);
  }

  #compareText(shown: string, real: unknown, path: string): void {
    const pattern = shown
      .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
      .replaceAll('…', '[\\s\\S]*')
      .replace(idForm, (id) => this.#ids.get(id) ?? `(?<id${id}>[0-9a-f]{8})`);
    const found = new RegExp(`^${pattern}$`).exec(String(real));
    expect(found, `${path}: ${real} is not like ${shown}`).not.toBeNull();
    for (const [name, id] of Object.entries(found?.groups ?? {}))
      this.#ids.set(name.slice('id'.length), id);
  }

  #real(text: string): string {
    return text.replace(idForm, (id) => this.#ids.get(id) ?? id);
  }
}

/** Each begins its line and may continue on further lines. */
function callsIn(body: string): { tool: string; input: string }[] {
  return body.split(/\n(?=[a-z_]+ \{)/).flatMap((call) => {
    const [, tool, input] = /^([a-z_]+) (\{[\s\S]*\})\s*$/.exec(call) ?? [];
    return tool && input ? [{ tool, input }] : [];
  });
}

const idForm = /\b[0-9a-f]{8}\b/g;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
