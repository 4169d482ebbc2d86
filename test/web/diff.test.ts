import { expect, test } from 'vitest';
import { filesIn } from '../../web/diff.mjs';

const patch = `diff --git a/slug.js b/slug.js
index 1111111..2222222 100644
--- a/slug.js
+++ b/slug.js
@@ -1,3 +1,3 @@ export
 same
-old
+new
 last
diff --git a/new file.txt b/new file.txt
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1 @@
+--- no header
\\ No newline at end of file
diff --git a/logo.png b/logo.png
index 4444444..5555555 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/from.txt b/to.txt
similarity index 100%
rename from from.txt
rename to to.txt
`;

test('a patch has its files, with their lines and numbers', () => {
  const [changed, added, binary, renamed, ...rest] = filesIn(patch);
  expect(rest).toEqual([]);
  expect(changed).toMatchObject({ path: 'slug.js', added: 1, removed: 1 });
  expect(changed?.lines.slice(1)).toEqual([
    { kind: 'same', old: 1, new: 1, text: 'same' },
    { kind: 'removed', old: 2, text: 'old' },
    { kind: 'added', new: 2, text: 'new' },
    { kind: 'same', old: 3, new: 3, text: 'last' }
  ]);
  expect(added).toMatchObject({ path: 'new file.txt', note: 'new', added: 1 });
  expect(added?.lines.map(({ kind }) => kind)).toEqual([
    'hunk',
    'added',
    'note'
  ]);
  expect(binary).toMatchObject({ path: 'logo.png', isBinary: true });
  expect(renamed).toMatchObject({
    path: 'to.txt',
    note: 'renamed from from.txt'
  });
});

test('a text that is no patch has no files', () => {
  for (const text of ['', '\n', 'hello\n+1\n-2'])
    expect(filesIn(text)).toEqual([]);
});
