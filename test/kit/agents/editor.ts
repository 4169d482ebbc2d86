/** Its prompt is a shell script that says which files it changed. */
export const editor = `export default {
  kind: 'cli',
  name: 'editor',
  description: 'Runs its prompt.',
  command: '/bin/sh',
  args: () => ['-s'],
  access: { read: 'enforced', write: 'asked', full: 'asked' },
  read(reply, { edit, shell, text }) {
    const { edits = { paths: [], isAll: true } } = reply;
    const paths = edit ? [...edits.paths, edit] : edits.paths;
    const isAll = edits.isAll && !shell;
    const end = text ? { text, finished: true } : {};
    return { ...reply, ...end, edits: { paths, isAll } };
  }
};
`;

/** A shell command that creates a file with one line. */
export function write(name: string): string {
  return `echo x >'${name}'`;
}

/** Changes a file and says so. */
export function edit(name: string): string {
  return `${write(name)}; echo '{"edit":"${name}"}'`;
}

/** Ends the agent's answer. */
export const done = `echo '{"text":"ok"}'`;

/** Such a file in `files_changed`, of this agent alone. */
export const own = (path: string) => ({ path, added: 1, removed: 0 });

/** Such a file that another agent may have changed. */
export const shared = (path: string) => ({ ...own(path), shared: true });
