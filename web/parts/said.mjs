import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted } from '../format.mjs';
import { html } from '../html.mjs';
import { blocksOf, firstOfLast, Markdown, mostChars } from '../markdown.mjs';
import { copyText, saveText } from '../save.mjs';
import { get } from '../session.mjs';
import { isActive, isFollowing, outputOf } from '../store.mjs';
import { Loading } from './empty.mjs';
import { More, useParts } from './long-text.mjs';
import { Turns } from './turns.mjs';

/** Steps that are shown before `Show all`. */
const fewSteps = 6;

/** The last characters of an answer that grows, which is redrawn each time. */
const mostLiveChars = 4000;

/** What an agent did and said: live while it is at work, else from its files. */
export function Said({ row }) {
  return isActive(row)
    ? html`<${Live} id=${row.agent_id} row=${row} />`
    : html`<${Ended} id=${row.agent_id} />`;
}

function Live({ id, row }) {
  const output = outputOf(id).value;
  const { steps, firstStep, text } = output;
  const shown = text.slice(-mostLiveChars);
  const hidden = output.offset + text.length - shown.length;
  const end = useRef();
  useEffect(() => {
    if (isFollowing.value) end.current?.scrollIntoView({ block: 'end' });
  }, [output, isFollowing.value]);
  const isSilent = steps.length === 0 && text === '';
  return html`
    <${Turns} id=${id} sizes=${output.sizes} answer=${text} fallback=${html`<${Steps} steps=${steps} dropped=${firstStep} isLive=${true} />`} />
    <section aria-labelledby="answer">
      <h2 id="answer">Answer so far</h2>
      ${isSilent ? html`<p class="note">${row.status === 'queued' ? 'It waits for a free place.' : 'Nothing was said yet.'}</p>` : null}
      ${hidden > 0 ? html`<p class="note">The beginning (${counted(hidden, 'character')}) is left out until it has ended.</p>` : null}
      ${shown === '' ? null : html`<${Answer} text=${shown} />`}
      <div ref=${end}></div>
    </section>`;
}

function Ended({ id }) {
  const path = `/web/agents/${id}/text?part=answer`;
  const { text, next, total, isLoaded, error, load } = useParts(path);
  return html`
    <${Turns} id=${id} sizes="" answer=${text} fallback=${html`<${EndedSteps} id=${id} />`} />
    <section aria-labelledby="answer">
      <div class="section-head">
        <h2 id="answer">Answer</h2>
        ${text.trim() === '' ? null : html`<${Keep} path=${path} name=${`${id}.md`} />`}
      </div>
      ${error ? html`<${Loading} error=${error} />` : null}
      ${isLoaded ? (text.trim() === '' ? html`<p class="note">It has no words.</p>` : html`<${Answer} text=${text} />`) : null}
      ${isLoaded ? html`<${More} next=${next} total=${total} load=${load} />` : null}
    </section>`;
}

function Answer({ text }) {
  const [most, setMost] = useState(mostChars);
  const blocks = useMemo(() => blocksOf(text), [text]);
  const hidden = firstOfLast(blocks, most);
  return html`
    ${hidden > 0 ? html`<button class="button small" onClick=${() => setMost(most + mostChars)}>Earlier (${counted(hidden, 'block')})</button>` : null}
    <${Markdown} blocks=${blocks.slice(hidden)} />`;
}

function Keep({ path, name }) {
  return html`
    <span class="tools">
      <button class="button small" onClick=${() => copyText(path)}>Copy</button>
      <button class="button small" onClick=${() => saveText(path, name)}>Download</button>
    </span>`;
}

function EndedSteps({ id }) {
  const [found, setFound] = useState({ steps: [] });
  useEffect(() => {
    get(`/web/agents/${id}/steps`).then(setFound, () => undefined);
  }, [id]);
  const { steps, dropped = 0 } = found;
  if (steps === null)
    return html`<p class="note">The output is too long to list its steps.</p>`;
  return html`<${Steps} steps=${steps} dropped=${dropped} />`;
}

function Steps({ steps, dropped, isLive = false }) {
  const [isAll, setAll] = useState(false);
  if (steps.length === 0) return null;
  const first = isAll ? 0 : Math.max(0, steps.length - fewSteps);
  const count = dropped + steps.length;
  return html`
    <section aria-labelledby="steps">
      <h2 id="steps">Steps <span class="count">${count}</span></h2>
      ${first > 0 ? html`<button class="button small" onClick=${() => setAll(true)}>Show all ${steps.length}</button>` : null}
      <ol class="steps" start=${dropped + first + 1}>
        ${steps.slice(first).map((step, index) => html`<li key=${dropped + first + index} class=${isLive && first + index === steps.length - 1 ? 'is-last' : ''}>${step}</li>`)}
      </ol>
    </section>`;
}
