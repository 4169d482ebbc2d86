import { useEffect, useState } from 'preact/hooks';
import { amount } from '../format.mjs';
import { html } from '../html.mjs';
import { get } from '../session.mjs';
import { Loading } from './empty.mjs';
import { useBusy } from './load.mjs';

/** A long text that is loaded part by part. */
export function useParts(path) {
  const [found, setFound] = useState({ text: '', next: 0, total: 0 });
  const [error, setError] = useState(undefined);
  const load = async (offset = found.next) => {
    try {
      const mark = path.includes('?') ? '&' : '?';
      const part = await get(`${path}${mark}offset=${offset}`);
      setFound((before) =>
        // A part that was asked for twice is there already.
        offset !== 0 && offset !== before.next
          ? before
          : {
              text: (offset === 0 ? '' : before.text) + part.text,
              next: part.next_offset,
              total: part.total_bytes,
              isLoaded: true
            }
      );
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => void load(0), [path]);
  return { ...found, error, load };
}

export function LongText({ path, class: name }) {
  const { text, next, total, isLoaded, error, load } = useParts(path);
  if (error) return html`<${Loading} error=${error} />`;
  if (!isLoaded) return html`<${Loading} />`;
  return html`
    <pre class=${`text ${name}`}>${text}</pre>
    <${More} next=${next} total=${total} load=${load} />`;
}

export function More({ next, total, load }) {
  const [isBusy, run] = useBusy();
  if (next === null || total === 0) return null;
  return html`<button class="button small" disabled=${isBusy} onClick=${() => run(load)}>More (${amount(total - next)} left)</button>`;
}
