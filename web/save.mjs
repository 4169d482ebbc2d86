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

/** All parts of a long text, also those that the page does not show. */
async function wholeText(path) {
  let text = '';
  for (let offset = 0; offset !== null; ) {
    const part = await get(`${path}&offset=${offset}`);
    text += part.text;
    offset = part.next_offset;
  }
  return text;
}

export function copyText(path) {
  void perform(
    async () => navigator.clipboard.writeText(await wholeText(path)),
    () => 'Copied.'
  );
}

export function saveText(path, name) {
  void perform(async () =>
    saveFile(name, await wholeText(path), 'text/markdown;charset=utf-8')
  );
}
