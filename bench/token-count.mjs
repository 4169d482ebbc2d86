/**
 * What a list of tools costs the context of whoever is told of it, in tokens
 * of o200k_base: of the tokenizers that are published, the newest. Those of
 * other makers count some per cent more or less.
 */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

/**
 * Clients hand to their model what they need to have it make a call, and keep
 * title, annotations and the form of the answer to themselves.
 * @param {{ name: string, description?: string, inputSchema: object }} tool
 */
function handedOn({ name, description, inputSchema }) {
  return { name, description, inputSchema };
}

/**
 * `sent`: name, description and input schema of each, as JSON; `whole`: the
 * list as a server answers it.
 * @param {{ name: string, description?: string, inputSchema: object }[]} tools
 */
export function tokensOf(tools) {
  const [largest] = tools
    .map((tool) => ({ name: tool.name, sent: countTokens(handedOn(tool)) }))
    .sort((one, other) => other.sent - one.sent);
  return {
    sent: countTokens(tools.map(handedOn)),
    whole: countTokens(tools),
    largest
  };
}

/**
 * @param {unknown} value a text, or what is told as JSON
 */
export function countTokens(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return encode(text).length;
}
