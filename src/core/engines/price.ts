import type { Reply } from '../../plugin.ts';

/** US dollars per million tokens, by the provider's model name. */
export type Prices = Record<
  string,
  { input: number; output: number; cached?: number | undefined }
>;

/** Days and versions that providers put behind a model's name. */
const dateSuffix = /^-(\d{4,8}|\d{4}-\d{2}-\d{2})$/;

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
  const price = Object.hasOwn(own, model) ? own[model] : undefined;
  if (price) {
    const { input, output, cached = input } = price;
    const full = Math.max(0, prompt_tokens - cachedTokens);
    const sum = full * input + cachedTokens * cached;
    return rounded((sum + completion_tokens * output) / 1e6);
  }
  if (provider === undefined) return undefined;
  const { calcPrice } = await import('@pydantic/genai-prices');
  const found = calcPrice(
    {
      input_tokens: prompt_tokens,
      output_tokens: completion_tokens,
      cache_read_tokens: Math.min(cachedTokens, prompt_tokens)
    },
    model,
    { providerId: provider }
  );
  return found && isSameModel(model, found.model.id)
    ? rounded(found.total_price)
    : undefined;
}

/** Without the noise of binary fractions. */
function rounded(dollars: number): number {
  return Number(dollars.toPrecision(12));
}

/** The list also matches by beginnings, which may be another model. */
function isSameModel(told: string, listed: string): boolean {
  if (told === listed) return true;
  return told.startsWith(listed) && dateSuffix.test(told.slice(listed.length));
}
