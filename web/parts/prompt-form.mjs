import { useState } from 'preact/hooks';
import { html } from '../html.mjs';

/**
 * A text of the person, and the button that sends it; Ctrl+Enter does, too.
 * @param label of the field, for screen readers; default: its placeholder
 * @param note what is worth knowing before it is sent
 * @param submit gets the text, and one id for all tries, so that a repeated
 *   send starts one thing; gives undefined if it failed
 * @param children more buttons
 */
export function PromptForm({
  placeholder,
  label = placeholder,
  note,
  button,
  submit,
  children
}) {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [id, setId] = useState(newId);
  const isDisabled = text.trim() === '' || isBusy;
  const onSubmit = async (event) => {
    event.preventDefault();
    if (isDisabled) return;
    setBusy(true);
    const done = await submit(text, id);
    setBusy(false);
    if (done === undefined) return;
    setText('');
    setId(newId);
  };
  const onKeyDown = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      void onSubmit(event);
  };
  return html`
    <form class="reply" onSubmit=${onSubmit}>
      <textarea rows="3" aria-label=${label} placeholder=${placeholder} value=${text}
        onInput=${({ target }) => setText(target.value)} onKeyDown=${onKeyDown}></textarea>
      <div class="buttons">
        <span class="note">${note} Ctrl+Enter sends.</span>
        ${children}
        <button class="button primary" disabled=${isDisabled}>${button}</button>
      </div>
    </form>`;
}

function newId() {
  return `page-${crypto.randomUUID?.().slice(0, 13) ?? Math.random().toString(36).slice(2)}`;
}
