/** A file with more lines is closed until a person opens it. */
export const mostOpenLines = 500;

/**
 * The files of a patch as git writes it.
 * @returns for each file its path, the lines added and removed, whether it is
 *   binary, and its lines
 */
export function filesIn(patch) {
  const files = [];
  let file;
  let oldLine = 0;
  let newLine = 0;
  let isHunk = false;
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ')) {
      file = newFile(line);
      files.push(file);
      isHunk = false;
      continue;
    }
    if (!file) continue;
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      oldLine = Number(hunk[1]);
      newLine = Number(hunk[2]);
      isHunk = true;
      file.lines.push({ kind: 'hunk', text: line });
    } else if (!isHunk) headerLine(file, line);
    else if (line.startsWith('+')) {
      file.added += 1;
      file.lines.push({ kind: 'added', new: newLine++, text: line.slice(1) });
    } else if (line.startsWith('-')) {
      file.removed += 1;
      file.lines.push({ kind: 'removed', old: oldLine++, text: line.slice(1) });
    } else if (line.startsWith('\\'))
      file.lines.push({ kind: 'note', text: line.slice(2) });
    else
      file.lines.push({
        kind: 'same',
        old: oldLine++,
        new: newLine++,
        text: line.slice(1)
      });
  }
  return files;
}

function newFile(line) {
  const [, path = line] = / b\/(.*)$/.exec(line) ?? [];
  return {
    path: path.replace(/"$/, ''),
    note: '',
    isBinary: false,
    added: 0,
    removed: 0,
    lines: []
  };
}

function headerLine(file, line) {
  const [, to] = /^\+\+\+ (?:"?b\/)(.*?)"?\t?$/.exec(line) ?? [];
  if (to !== undefined) file.path = to;
  if (/^(Binary files|GIT binary patch)/.test(line)) file.isBinary = true;
  const [note] =
    /^(new file|deleted file|rename from|rename to)/.exec(line) ?? [];
  if (note === 'new file') file.note = 'new';
  if (note === 'deleted file') file.note = 'deleted';
  if (note === 'rename from') file.note = `renamed from ${line.slice(12)}`;
}
