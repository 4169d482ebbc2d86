import { useState } from 'preact/hooks';
import { html } from '../html.mjs';
import { go } from '../router.mjs';
import { mayAct, perform, send } from '../session.mjs';
import { isActive } from '../store.mjs';

/** Sends another prompt to the session of an agent that has ended. */
export function Reply({ id, row, data }) {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  // One id for all tries, so that a repeated send starts one agent.
  const [requestId] = useState(
    () => `page-${crypto.randomUUID?.() ?? Math.random().toString(36).slice(2)}`
  );
  if (!data || isActive(row) || !mayAct()) return null;
  if (data.continue_refusal !== null)
    return html`<section aria-labelledby="reply"><h2 id="reply">Continue</h2><p class="note">It cannot be continued: ${data.continue_refusal}</p></section>`;
  const submit = async (event) => {
    event?.preventDefault();
    if (text.trim() === '' || isBusy) return;
    setBusy(true);
    const started = await perform(
      () =>
        send(`/web/agents/${id}/continue`, {
          prompt: text,
          request_id: requestId
        }),
      ({ agent_id: next, error, warning }) =>
        error ?? `${next} continues ${id}. ${warning ?? ''}`
    );
    setBusy(false);
    if (started) go(`/agents/${started.agent_id}`);
  };
  const onKeyDown = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      void submit(event);
  };
  return html`
    <section aria-labelledby="reply">
      <h2 id="reply">Continue</h2>
      <form class="reply" onSubmit=${submit}>
        <textarea id="reply-text" rows="3" aria-label="The next prompt" placeholder="The next prompt, in the same session" value=${text}
          onInput=${({ target }) => setText(target.value)} onKeyDown=${onKeyDown}></textarea>
        <div class="buttons">
          <span class="note">${data.access} access, in the same directory. Ctrl+Enter sends.</span>
          <button class="button primary" disabled=${text.trim() === '' || isBusy}>Continue</button>
        </div>
      </form>
    </section>`;
}
