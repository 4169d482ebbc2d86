import { get, perform } from './session.mjs';

/** Texts that leave the page: as a file, or by the clipboard. */
export function saveFile(name, text, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // The browser reads it after this call.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * All parts of a long text as they are in its file, also those that the page
 * does not show.
 */
async function wholeText(path) {
  let text = '';
  for (let offset = 0; offset !== null; ) {
    const part = await get(`${path}&exact&offset=${offset}`);
    text += part.text;
    offset = part.next_offset;
  }
  return text;
}

export function copyText(path) {
  const otherwise = 'Use Download.';
  void perform(
    () => toClipboard(() => wholeText(path), otherwise),
    () => 'Copied.'
  );
}

export function copyId(id) {
  const otherwise = `The id is ${id}.`;
  void perform(
    () => toClipboard(() => id, otherwise),
    () => `Copied ${id}.`
  );
}

/** @param otherwise the next step where the browser does not copy */
async function toClipboard(read, otherwise) {
  const { clipboard } = navigator;
  if (!clipboard)
    throw new Error(
      `This browser copies only over https or on localhost. ${otherwise}`
    );
  const text = await read();
  await clipboard.writeText(text).catch(() => {
    throw new Error(`The browser did not allow the copy. ${otherwise}`);
  });
}

export function saveText(path, name) {
  void perform(async () =>
    saveFile(name, await wholeText(path), 'text/markdown;charset=utf-8')
  );
}
