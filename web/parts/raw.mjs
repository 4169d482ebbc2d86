import { useState } from 'preact/hooks';
import { amount } from '../format.mjs';
import { html } from '../html.mjs';
import { LongText } from './long-text.mjs';

/** The output as the program wrote it; loaded when a person opens it. */
export function Raw({ id, data }) {
  if (!data) return null;
  return html`
    <section aria-labelledby="raw">
      <h2 id="raw">Raw output</h2>
      ${['stdout', 'stderr'].map((name) => html`<${Stream} id=${id} name=${name} bytes=${data[`${name}_bytes`]} />`)}
    </section>`;
}

function Stream({ id, name, bytes }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <details class="file" open=${isOpen} onToggle=${({ target }) => setOpen(target.open)}>
      <summary><code>${name}</code><span class="numbers">${amount(bytes)}</span></summary>
      ${isOpen ? html`<${LongText} path=${`/web/agents/${id}/text?part=${name}`} class="raw" />` : null}
    </details>`;
}
