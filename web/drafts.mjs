import { signal } from '@preact/signals';

/** Texts that a person has typed and not sent. They outlive their fields. */
const drafts = new Map();

/**
 * @param key names the field, such as `task` and the id of a worker
 * @returns signals: `text`, and `target`: what the text was written for, where
 *   a field may have several
 */
export function draftOf(key) {
  const known = drafts.get(key);
  if (known) return known;
  const draft = { text: signal(''), target: signal(), ids: new Map() };
  drafts.set(key, draft);
  return draft;
}

export function writeDraft(draft, text, target) {
  if (draft.text.peek() === '') draft.target.value = target;
  draft.text.value = text;
}

/** From now on, the text is meant for another target. */
export function retarget(draft, target) {
  draft.target.value = target;
  draft.ids.clear();
}

/**
 * The same text has the same id each time, so that the server does once what
 * is sent again after a lost answer.
 */
export function requestId(draft, text) {
  const known = draft.ids.get(text);
  if (known !== undefined) return known;
  const id = `page-${crypto.randomUUID?.().slice(0, 13) ?? Math.random().toString(36).slice(2)}`;
  draft.ids.set(text, id);
  return id;
}

/** A text was sent. What was typed meanwhile stays. */
export function clearDraft(draft, sent) {
  draft.ids.clear();
  if (draft.text.peek() === sent) draft.text.value = '';
}
