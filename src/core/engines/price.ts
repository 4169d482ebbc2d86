import type { Reply } from '../../plugin.ts';

/** US dollars per million tokens, by the provider's model name. */
export type Prices = Record<
  string,
  { input: number; output: number; cached?: number | undefined }
>;

/** What providers put behind a name for one and the same model. */
const sameModel = /^-(\d{8}|\d{4}-\d{2}-\d{2}|00\d)$/;

/**
 * What a reply cost: as the engine told it, else by the user's own prices,
 * else by the published ones of the model named in the response. Undefined
 * when that model is not listed: a similar name is another price.
 */
export async function costOf(
  reply: Reply,
  provider: string | undefined,
  own: Prices
): Promise<number | undefined> {
  if (reply.costUsd !== undefined) return reply.costUsd;
  const { model, usage, cachedTokens = 0 } = reply;
  if (model === undefined || usage === undefined) return undefined;
  const { prompt_tokens, completion_tokens } = usage;
  const cached = Math.min(cachedTokens, prompt_tokens);
  const names = Object.keys(own).filter((name) => isSameModel(model, name));
  const price = own[names.find((name) => name === model) ?? names[0] ?? ''];
  if (price) {
    const sum =
      (prompt_tokens - cached) * price.input +
      cached * (price.cached ?? price.input) +
      completion_tokens * price.output;
    return rounded(sum / 1e6);
  }
  if (provider === undefined) return undefined;
  try {
    const { calcPrice } = await import('@pydantic/genai-prices');
    const found = calcPrice(
      {
        input_tokens: prompt_tokens,
        output_tokens: completion_tokens,
        cache_read_tokens: cached
      },
      model,
      { providerId: provider }
    );
    return found && isSameModel(model, found.model.id)
      ? rounded(found.total_price)
      : undefined;
  } catch {
    // An answer is not lost because nobody can say what it cost.
    return undefined;
  }
}

/** Without the noise of binary fractions. */
function rounded(dollars: number): number {
  return Number(dollars.toPrecision(12));
}

/** The list also matches by beginnings, which may be another model. */
function isSameModel(told: string, listed: string): boolean {
  if (told === listed) return true;
  return told.startsWith(listed) && sameModel.test(told.slice(listed.length));
}
