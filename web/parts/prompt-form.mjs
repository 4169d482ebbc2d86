import { clearDraft, draftOf, requestId, writeDraft } from '../drafts.mjs';
import { html } from '../html.mjs';
import { useBusy } from './load.mjs';

/**
 * A text of the person, and the button that sends it; Ctrl+Enter does, too.
 * @param draft the key of the text that is kept until it is sent
 * @param target what the text is written for; see `draftOf`
 * @param label of the field, for screen readers; default: its placeholder
 * @param note what is worth knowing before it is sent
 * @param refusal why nothing can be sent now
 * @param kept follows the refusal when a text was typed before
 * @param submit gets the text, and one id for all tries of this text, so that
 *   a repeated send starts one thing; gives undefined if it failed
 * @param children more buttons
 */
export function PromptForm({
  draft: key,
  target,
  placeholder,
  label = placeholder,
  note,
  button,
  refusal,
  kept = 'Your text is kept: copy it.',
  submit,
  children
}) {
  const draft = draftOf(key);
  const text = draft.text.value;
  const [isBusy, run] = useBusy();
  if (refusal && text === '') return html`<p class="note">${refusal}</p>`;
  const isDisabled = text.trim() === '' || isBusy || refusal !== undefined;
  const onSubmit = (event) => {
    event.preventDefault();
    if (isDisabled) return;
    void run(async () => {
      const done = await submit(text, requestId(draft, text));
      if (done !== undefined) clearDraft(draft, text);
    });
  };
  const onKeyDown = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      onSubmit(event);
  };
  return html`
    <form class="reply" onSubmit=${onSubmit}>
      ${refusal ? html`<p class="kept" role="status">${refusal} ${kept}</p>` : null}
      <textarea rows="3" aria-label=${label} placeholder=${placeholder} value=${text}
        onInput=${({ target: field }) => writeDraft(draft, field.value, target)} onKeyDown=${onKeyDown}></textarea>
      <div class="buttons">
        ${refusal ? html`<button type="button" class="button" onClick=${() => clearDraft(draft, text)}>Discard</button>` : html`<span class="note">${note} Ctrl+Enter sends.</span>`}
        ${children}
        <button class="button primary" disabled=${isDisabled}>${button}</button>
      </div>
    </form>`;
}
