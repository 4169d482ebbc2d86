import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { html } from '../html.mjs';
import { perform, send } from '../session.mjs';
import { allRows, isActive, message } from '../store.mjs';

/** The open dialog, a component; undefined without one. */
export const dialog = signal(undefined);

export function close() {
  dialog.value = undefined;
}

export function Dialogs() {
  const Open = dialog.value;
  return Open ? html`<${Open} />` : null;
}

export function Modal({ label, children }) {
  const element = useRef();
  // At once: the next key may already focus something else.
  useLayoutEffect(() => {
    const before = document.activeElement;
    message.value = { text: '', isError: false };
    element.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`
    <dialog ref=${element} aria-label=${label} onClose=${close} onClick=${(
      event
    ) => event.target === element.current && close()}>
      <div class="dialog">${children}${message.value.isError ? html`<p class="problem" role="alert">${message.value.text}</p>` : null}</div>
    </dialog>`;
}

/**
 * Asks before something is ended.
 * @param yes the words of the button that does it; `no`: of the other one
 * @param act gets the fields of the dialog
 */
export function confirm({ title, yes, no, act, content }) {
  const submit = (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    close();
    void act(fields);
  };
  dialog.value = () => html`
    <${Modal} label=${yes}>
      <form onSubmit=${submit}>
        <h2>${title}</h2>
        ${content}
        <div class="buttons">
          <button type="button" class="button" onClick=${close}>${no}</button>
          <button type="submit" class="button danger">${yes}</button>
        </div>
      </form>
    <//>`;
}

export function cancelAgent(row) {
  const id = row.agent_id;
  const children = allRows().filter(
    (one) => one.kind === 'agent' && one.parent === id && isActive(one)
  );
  confirm({
    title: `Cancel ${id}?`,
    yes: 'Cancel agent',
    no: 'Keep it running',
    act: (fields) =>
      perform(
        () =>
          send(`/web/agents/${id}/cancel`, { reason: fields.get('reason') }),
        ({ status, had_ended: hadEnded }) =>
          hadEnded
            ? `${id} had ended already (${status}).`
            : `${id} is ${status}.`
      ),
    content: html`
      <p>It and every process it started are stopped. Its output so far is kept.</p>
      <p class="quote">${row.task}</p>
      ${
        children.length > 0
          ? html`<p>Its agents are stopped, too: ${children.map(({ agent_id: one }) => one).join(', ')}.</p>`
          : null
      }
      <label class="field">Reason, for the log (optional)
        <input name="reason" maxlength="2000" autocomplete="off" />
      </label>`
  });
}

const keys = [
  ['j, k', 'next and previous row'],
  ['Enter', 'open it'],
  ['/', 'filter the list'],
  ['Esc', 'clear the filter, go back'],
  ['1 … 6', 'Now, Squads, Council, Workers, Audit, Spend'],
  ['x', 'cancel the agent, after a question'],
  ['r', 'write a reply, a task or a response'],
  ['f', 'follow the end of the output'],
  ['d', 'go to the changes'],
  ['y', 'copy its id'],
  ['t', 'light, dark, or as the system'],
  ['?', 'this help']
];

export function help() {
  dialog.value = Help;
}

function Help() {
  return html`
    <${Modal} label="Keyboard">
      <h2>Keyboard</h2>
      <dl class="keys">
        ${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}
      </dl>
      <div class="buttons">
        <button type="button" class="button" onClick=${close}>Close</button>
      </div>
    <//>`;
}
