import type { Reply } from '../../plugin/plugin.ts';

/** US dollars per million tokens, by the provider's model name. */
export type Prices = Record<
  string,
  { input: number; output: number; cached?: number | undefined }
>;

/** Suffixes that providers add to the name of the same model. */
const sameModel = /^-(\d{8}|\d{4}-\d{2}-\d{2}|00\d)$/;

/**
 * The cost of a reply in US dollars: the cost that the engine reports, else the
 * user's price, else the published price of the model in the response.
 * Undefined when the model is not listed, because a similar name may have
 * another price.
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
    return shownCost(sum / 1e6);
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
      ? shownCost(found.total_price)
      : undefined;
  } catch {
    // A failed price lookup must not lose the answer.
    return undefined;
  }
}

/**
 * Without floating-point noise. Undefined for a cost that no outcome or view
 * can show, which only an absurd price or number of tokens leads to.
 */
function shownCost(dollars: number): number | undefined {
  const cost = Number(dollars.toPrecision(12));
  return cost <= Number.MAX_SAFE_INTEGER ? cost : undefined;
}

/** The price list also matches prefixes, which may be other models. */
function isSameModel(model: string, listed: string): boolean {
  if (model === listed) return true;
  return model.startsWith(listed) && sameModel.test(model.slice(listed.length));
}
