import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { html } from '../html.mjs';
import { perform, send } from '../session.mjs';
import { allRows, isActive } from '../store.mjs';

/** The open dialog: `{kind: 'cancel', row}` or `{kind: 'help'}`. */
export const dialog = signal(undefined);

export function Dialogs() {
  const open = dialog.value;
  if (!open) return null;
  return open.kind === 'help'
    ? html`<${Help} />`
    : html`<${Cancel} key=${open.row.agent_id} row=${open.row} />`;
}

function Modal({ label, children }) {
  const element = useRef();
  // At once: the next key may already focus something else.
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => before?.focus?.();
  }, []);
  const close = () => {
    dialog.value = undefined;
  };
  return html`
    <dialog ref=${element} aria-label=${label} onClose=${close} onClick=${(
      event
    ) => event.target === element.current && close()}>
      <div class="dialog">${children}</div>
    </dialog>`;
}

function Cancel({ row }) {
  const id = row.agent_id;
  const children = allRows().filter(
    (one) => one.kind === 'agent' && one.parent === id && isActive(one)
  );
  const cancel = (event) => {
    event.preventDefault();
    const reason = new FormData(event.target).get('reason');
    dialog.value = undefined;
    void perform(
      () => send(`/web/agents/${id}/cancel`, { reason }),
      ({ status, had_ended: hadEnded }) =>
        hadEnded
          ? `${id} had ended already (${status}).`
          : `${id} is ${status}.`
    );
  };
  return html`
    <${Modal} label="Cancel agent">
      <form onSubmit=${cancel}>
        <h2>Cancel ${id}?</h2>
        <p>It and every process it started are stopped. Its output so far is kept.</p>
        <p class="quote">${row.task}</p>
        ${
          children.length > 0
            ? html`<p>Its agents are stopped, too: ${children.map(({ agent_id: one }) => one).join(', ')}.</p>`
            : null
        }
        <label class="field">Reason, for the log (optional)
          <input name="reason" maxlength="2000" autocomplete="off" />
        </label>
        <div class="buttons">
          <button type="button" class="button" onClick=${() => {
            dialog.value = undefined;
          }}>Keep it running</button>
          <button type="submit" class="button danger">Cancel agent</button>
        </div>
      </form>
    <//>`;
}

const keys = [
  ['j, k', 'next and previous row'],
  ['Enter', 'open it'],
  ['/', 'filter the list'],
  ['Esc', 'clear the filter, go back'],
  ['1 … 6', 'Now, Squads, Council, Workers, Audit, Spend'],
  ['x', 'cancel the agent, after a question'],
  ['r', 'reply to an agent that has ended'],
  ['f', 'follow the end of the output'],
  ['d', 'go to the changes'],
  ['y', 'copy its id'],
  ['t', 'light, dark, or as the system'],
  ['?', 'this help']
];

function Help() {
  return html`
    <${Modal} label="Keyboard">
      <h2>Keyboard</h2>
      <dl class="keys">
        ${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}
      </dl>
      <div class="buttons">
        <button type="button" class="button" onClick=${() => {
          dialog.value = undefined;
        }}>Close</button>
      </div>
    <//>`;
}
