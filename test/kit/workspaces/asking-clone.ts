import {
  type ClonedWorkspace,
  cloneOf,
  pongPlugin
} from './cloned-workspace.ts';

/** What the configuration of `askingClone` says. */
export const askedSettings = {
  plugins: ['./engines/pong.mjs'],
  engines: {
    claude: { env: { SOME_NAME: 'some-value' } },
    codex: { command: '/opt/codex', baseUrl: 'https://proxy.example/v1' }
  },
  squad: { runTemplatePath: 'own.template' }
};

/** What of it, and of its other files, needs trust. */
export const asked = [
  'plugins',
  'engines.claude.env',
  'engines.codex.command',
  'engines.codex.baseUrl',
  'squad.runTemplatePath',
  'agents/planner.md'
];

/** A clone that asks for one thing of each kind. */
export function askingClone(): ClonedWorkspace {
  return cloneOf(({ module }) => ({
    'engines/pong.mjs': pongPlugin(`import './lib.mjs';\n${module('plugin')}`),
    'engines/lib.mjs': 'export default 1;\n',
    'own.template': 'echo <%= prompt %>',
    'agents/planner.md': 'You plan.',
    'package.json': JSON.stringify({
      name: 'x',
      version: '1.0.0',
      troupe: askedSettings
    })
  }));
}
