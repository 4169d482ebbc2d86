/**
 * The cost of a list of tools in a client's context, in tokens of o200k_base,
 * the newest published tokenizer. Other tokenizers count a few per cent more
 * or less.
 */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

/**
 * The parts of a tool that clients pass to their model. They keep the title,
 * the annotations and the output schema.
 * @param {{ name: string, description?: string, inputSchema: object }} tool
 */
function inheritedVariables({ name, description, inputSchema }) {
  return { name, description, inputSchema };
}

/**
 * `sent` counts the name, the description and the input schema of each tool as
 * JSON; `whole` counts the list as a server returns it.
 * @param {{ name: string, description?: string, inputSchema: object }[]} tools
 */
export function tokensOf(tools) {
  const [largest] = tools
    .map((tool) => ({
      name: tool.name,
      sent: countTokens(inheritedVariables(tool))
    }))
    .sort((one, other) => other.sent - one.sent);
  return {
    sent: countTokens(tools.map(inheritedVariables)),
    whole: countTokens(tools),
    largest
  };
}

/**
 * @param {unknown} value a text, or a value to count as JSON
 */
export function countTokens(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return encode(text).length;
}
