import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

const thrown = 'throw new Error("boom");';
const good = '{ ...reply, text: "said", finished: true }';

/** Engine, the member to be named, its code, the outcome's code, its words. */
export const wrongPrograms: [string, string, string, string, RegExp][] = [
  ['args-throw', 'args', `() => { ${thrown} }`, 'spawn_failed', /boom/],
  ['args-nothing', 'args', '() => {}', 'spawn_failed', /array.*undefined/],
  ['args-text', 'args', '() => "-c"', 'spawn_failed', /array/],
  ['args-number', 'args', '() => ["-e", 7]', 'spawn_failed', /\[1\]/],
  ['args-nul', 'args', '() => ["a\\0b"]', 'spawn_failed', /NUL/],
  [
    'args-later',
    'args',
    `async () => { ${thrown} }`,
    'spawn_failed',
    /Promise/
  ],
  [
    'args-odd',
    'args',
    '() => { throw Object.create(null); }',
    'spawn_failed',
    /threw/
  ],
  ['stdin-throws', 'stdin', `() => { ${thrown} }`, 'spawn_failed', /boom/],
  ['stdin-nothing', 'stdin', '() => {}', 'spawn_failed', /string/],
  [
    'env-throws',
    'env',
    `{ set() { ${thrown} } }`,
    'spawn_failed',
    /env\.set.*boom/
  ],
  [
    'env-number',
    'env',
    '{ set: () => ({ A: 1 }) }',
    'spawn_failed',
    /env\.set.*A/
  ],
  ['env-nul', 'env', '{ set: () => ({ A: "\\0" }) }', 'spawn_failed', /NUL/],
  ['tools-throw', 'tools', `() => { ${thrown} }`, 'spawn_failed', /boom/],
  ['tools-list', 'tools', '() => ["a"]', 'spawn_failed', /string/],
  [
    'limit-throws',
    'timeoutSeconds',
    `() => { ${thrown} }`,
    'spawn_failed',
    /boom/
  ],
  ['limit-nan', 'timeoutSeconds', '() => NaN', 'spawn_failed', /number/],
  ['read-throws', 'read', `() => { ${thrown} }`, 'bad_output', /boom/],
  ['read-nothing', 'read', '() => {}', 'bad_output', /undefined/],
  ['read-text', 'read', '() => "said"', 'bad_output', /object.*string/],
  [
    'read-textless',
    'read',
    '() => ({ finished: true })',
    'bad_output',
    /string/
  ],
  [
    'read-once',
    'read',
    `(reply, event) => { if (event.type === 'first') ${thrown} return ${good}; }`,
    'bad_output',
    /boom/
  ],
  [
    'read-forgets',
    'read',
    `(reply, { type }) => type === 'first' ? ({ text: 1 }) : ({ text: "said", finished: true })`,
    'bad_output',
    /string/
  ],
  [
    'read-circle',
    'read',
    `(reply) => { const circle = ${good}; circle.progress = circle; return circle; }`,
    'bad_output',
    /progress/
  ],
  [
    'read-code',
    'read',
    `(reply) => ({ ...${good}, failure: { code: 'boom', message: 'x' } })`,
    'bad_output',
    /failure\.code/
  ],
  [
    'read-cost',
    'read',
    `(reply) => ({ ...${good}, costUsd: 1n })`,
    'bad_output',
    /costUsd/
  ],
  [
    'failure-throws',
    'failure',
    `() => { ${thrown} }, read: (reply) => reply, args: () => ['fail']`,
    'bad_output',
    /boom.*/
  ],
  [
    'failure-odd',
    'failure',
    `() => 'boom', read: (reply) => reply, args: () => ['fail']`,
    'bad_output',
    /failure returned an invalid value/
  ]
];

export const wrongApis: [string, string, string, RegExp][] = [
  ['api-throws', `() => { ${thrown} }`, 'spawn_failed', /boom/],
  ['api-nothing', '() => {}', 'bad_output', /undefined/],
  ['api-textless', 'async () => ({ finished: true })', 'bad_output', /string/],
  [
    'api-circle',
    'async () => { const circle = { text: "x", finished: true }; circle.denials = [circle]; return circle; }',
    'bad_output',
    /denials/
  ],
  [
    'api-odd',
    'async () => { throw Object.create(null); }',
    'spawn_failed',
    /asked/
  ],
  [
    'api-silent',
    '() => new Promise(() => {})',
    'bad_output',
    /without an answer/
  ],
  [
    'api-exit',
    'async () => { process.exit(0); }',
    'spawn_failed',
    /process\.exit/
  ],
  [
    'api-pieces',
    'async (request, { onText }) => { onText(7); return { text: "7", finished: true }; }',
    'bad_output',
    /onText/
  ],
  [
    'api-big',
    'async () => ({ text: "x", finished: true, usage: 1n })',
    'bad_output',
    /usage/
  ]
];

/** As a module would have it as its default export. */
export function programSource(name: string, members: string): string {
  return `{ kind: 'cli', name: '${name}', description: 'x',
    command: 'speaker', args: () => [], ${members} }`;
}

export function apiSource(name: string, generate: string): string {
  return `{ kind: 'api', name: '${name}', description: 'x', keyNames: [],
    generate: ${generate} }`;
}

/** The program of them all: two events, or words of a failure. */
export function writeSpeaker({ program }: TempWorkspace): void {
  program(
    'speaker',
    `if (process.argv[2] === 'fail') {
       console.error('not logged in');
       process.exit(3);
     }
     console.log('{"type":"first"}\\n{"type":"last"}');`
  );
}
