import { html } from '../html.mjs';
import { go } from '../router.mjs';
import { granted, mayAct, perform, send } from '../session.mjs';
import { isActive } from '../store.mjs';
import { close, closeThis, dialog, Modal } from './dialog.mjs';
import { PromptForm } from './prompt-form.mjs';

/** Sends another prompt to the session of an agent that has ended. */
export function Reply({ id, row, data }) {
  if (!data || isActive(row) || !mayAct()) return null;
  const { continue_refusal: refusal } = data;
  const submit = (prompt, requestId) =>
    start(
      `/web/agents/${id}/continue`,
      { prompt, request_id: requestId },
      `continues ${id}`
    );
  return html`
    <section aria-labelledby="reply">
      <h2 id="reply">Continue</h2>
      <${PromptForm} draft=${`continue ${id}`} placeholder="The next prompt, in the same session" button="Continue"
        refusal=${refusal === null ? undefined : `It cannot be continued: ${refusal}`}
        note=${`It has ${granted(data.access)}, in the same directory.`} submit=${submit} />
    </section>`;
}

/** Starts an agent, and opens its screen. */
async function start(path, body, does) {
  const started = await perform(
    () => send(path, body),
    ({ agent_id: next, error }) => error ?? `${next} ${does}.`
  );
  if (started) go(`/agents/${started.agent_id}`);
  return started;
}

/** Asks for the prompt of another agent like this one. */
export function spawnAlike(data) {
  const { agent_id: id, label, model, access, worktree } = data;
  const engine = model === 'default' ? label : `${label} (${model})`;
  const place = worktree ? 'in a worktree of its own' : `in ${data.cwd}`;
  const submit = async (prompt, requestId) => {
    const body = { like: id, prompt, request_id: requestId };
    const started = await start('/web/agents', body, 'is started');
    if (started) closeThis(Alike);
    return started;
  };
  const Alike = () => html`
    <${Modal} label="Spawn alike">
      <h2>Spawn alike</h2>
      <p class="note">${engine} with ${granted(access)}, ${place}. It knows nothing of ${id}.</p>
      <${PromptForm} draft=${`alike ${id}`} placeholder="The prompt of the new agent" button="Spawn" note="" submit=${submit}>
        <button type="button" class="button" onClick=${close}>Close</button>
      <//>
    <//>`;
  dialog.value = Alike;
}
