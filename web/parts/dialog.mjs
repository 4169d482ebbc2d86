import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { clearDraft, draftOf, writeDraft } from '../drafts.mjs';
import { html } from '../html.mjs';
import { perform, send } from '../session.mjs';
import { allRows, isActive, message } from '../store.mjs';
import { useBusy } from './load.mjs';

/** The open dialog, a component; undefined without one. */
export const dialog = signal(undefined);

export function close() {
  dialog.value = undefined;
}

/** After an action: a person may have opened another dialog meanwhile. */
export function closeThis(shown) {
  if (dialog.peek() === shown) close();
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
    const node = element.current;
    message.value = { text: '', isError: false };
    node.showModal();
    return () => {
      // While it is open, nothing outside of it can take the focus.
      node.close();
      before?.focus?.();
    };
  }, []);
  // The event may come after the next dialog was opened.
  const closeOwn = () => {
    if (element.current) close();
  };
  // A text is often selected to beyond the edge, which clicks the backdrop.
  const isPressedOutside = useRef(false);
  // The browser tells of Esc by "cancel" at once, and by "close" only after
  // keys that came meanwhile.
  return html`
    <dialog ref=${element} aria-label=${label} onCancel=${closeOwn} onClose=${closeOwn}
      onPointerDown=${({ target }) => {
        isPressedOutside.current = target === element.current;
      }}
      onClick=${({ target, detail }) => {
        // The second click of two is still meant for the button that opened it.
        const isOutside = target === element.current && detail < 2;
        if (isOutside && isPressedOutside.current) close();
      }}>
      <div class="dialog">${children}${message.value.isError ? html`<p class="problem" role="alert">${message.value.text}</p>` : null}</div>
    </dialog>`;
}

/**
 * Asks before something is ended. Closes after it was done, so that a failure
 * is shown here and loses nothing.
 * @param yes the words of the button that does it; `no`: of the other one
 * @param act gets the fields of the dialog; gives undefined if it failed
 */
export function confirm({ title, yes, no, act, content }) {
  const Question = () => {
    const [isBusy, run] = useBusy();
    const submit = (event) => {
      event.preventDefault();
      const fields = new FormData(event.target);
      void run(async () => {
        if ((await act(fields)) !== undefined) closeThis(Question);
      });
    };
    return html`
      <${Modal} label=${yes}>
        <form onSubmit=${submit}>
          <h2>${title}</h2>
          ${content}
          <div class="buttons">
            <button type="button" class="button" onClick=${close}>${no}</button>
            <button type="submit" class="button danger" disabled=${isBusy}>${yes}</button>
          </div>
        </form>
      <//>`;
  };
  dialog.value = Question;
}

export function cancelAgent(row) {
  const id = row.agent_id;
  const draft = draftOf(`cancel ${id}`);
  const children = allRows().filter(
    (one) => one.kind === 'agent' && one.parent === id && isActive(one)
  );
  confirm({
    title: `Cancel ${id}?`,
    yes: 'Cancel agent',
    no: 'Keep it running',
    act: () => {
      const reason = draft.text.peek();
      return perform(
        () => send(`/web/agents/${id}/cancel`, { reason }),
        ({ status, had_ended: hadEnded }) => {
          clearDraft(draft, reason);
          return hadEnded
            ? `${id} had ended already (${status}).`
            : `${id} is ${status}.`;
        }
      );
    },
    content: html`
      <p>It and every process it started are stopped. Its output so far is kept.</p>
      <p class="quote">${row.task}</p>
      ${
        children.length > 0
          ? html`<p>Its agents are stopped, too: ${children.map(({ agent_id: one }) => one).join(', ')}.</p>`
          : null
      }
      <${Reason} draft=${draft} />`
  });
}

function Reason({ draft }) {
  return html`
    <label class="field">Reason, for the log (optional)
      <input maxlength="2000" autocomplete="off" value=${draft.text.value}
        onInput=${({ target }) => writeDraft(draft, target.value)} />
    </label>`;
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
