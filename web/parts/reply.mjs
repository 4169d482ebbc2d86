import { html } from '../html.mjs';
import { go } from '../router.mjs';
import { mayAct, perform, send } from '../session.mjs';
import { isActive } from '../store.mjs';
import { PromptForm } from './prompt-form.mjs';

/** Sends another prompt to the session of an agent that has ended. */
export function Reply({ id, row, data }) {
  if (!data || isActive(row) || !mayAct()) return null;
  if (data.continue_refusal !== null)
    return html`<section aria-labelledby="reply"><h2 id="reply">Continue</h2><p class="note">It cannot be continued: ${data.continue_refusal}</p></section>`;
  const submit = async (prompt, requestId) => {
    const started = await perform(
      () =>
        send(`/web/agents/${id}/continue`, { prompt, request_id: requestId }),
      ({ agent_id: next, error, warning }) =>
        error ?? `${next} continues ${id}. ${warning ?? ''}`
    );
    if (started) go(`/agents/${started.agent_id}`);
    return started;
  };
  return html`
    <section aria-labelledby="reply">
      <h2 id="reply">Continue</h2>
      <${PromptForm} placeholder="The next prompt, in the same session" button="Continue"
        note=${`${data.access} access, in the same directory.`} submit=${submit} />
    </section>`;
}
