#!/usr/bin/env node
/**
 * Builds troupe-<version>.mcpb, the bundle that Claude Desktop and other hosts
 * install by a double click: the server with all files that it loads. Needs
 * the build in dist/.
 *
 *     node scripts/mcpb.mjs [FOLDER]    writes to FOLDER, not to dist/packages
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keys, summary, title } from './packages/package-files.mjs';
import { zip } from './packages/zip.mjs';
import { termsFile } from './third-party.mjs';

const root = join(import.meta.dirname, '..');
const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The files of `troupe mcp` over stdio; a shell and HTTP need others. */
const programs = [
  ...['troupe.cjs', 'mcp.cjs', 'api-agent.js', 'gemini-cli-limits.toml'],
  ...['supervisor.cjs', 'reaper.cjs', 'ask-bridge.cjs', 'parked.cjs'],
  ...['rehearsal-agent.cjs', 'rehearsal-worker.cjs']
];
const folders = ['agents', 'prompts', 'templates'];

/** The files that these programs load at first use. */
const lazy = new Set(
  programs.flatMap((program) => {
    const code = readFileSync(join(root, 'dist', program), 'utf8');
    return code.match(/(?<=\.\/)lazy\/[\w-]+\.js/g) ?? [];
  })
);

const target = process.argv[2] ?? join(root, 'dist', 'packages');
const bundle = zip(content());
const file = join(target, `${about.name}-${about.version}.mcpb`);
mkdirSync(target, { recursive: true });
writeFileSync(file, bundle);
console.log(`${file}: ${bundle.length} bytes`);

function content() {
  const files = new Map();
  const json = (path, value) =>
    files.set(path, Buffer.from(`${JSON.stringify(value, null, 2)}\n`));
  json('manifest.json', manifest());
  const { name, version, type, license, engines } = about;
  json('package.json', { name, version, type, license, engines });
  const copied = [
    'LICENSE',
    ...[...programs, ...lazy].map((program) => `dist/${program}`),
    ...folders.flatMap((folder) =>
      readdirSync(join(root, folder)).map((one) => `${folder}/${one}`)
    )
  ];
  for (const path of copied) files.set(path, readFileSync(join(root, path)));
  files.set(termsFile, readFileSync(join(root, 'dist', termsFile)));
  return files;
}

function manifest() {
  const settings = keys.map(({ name, maker, tool }) => [
    name.toLowerCase(),
    {
      type: 'string',
      title: `Key of the ${maker} API`,
      description: `For ${tool}. Leave it empty if you do not use it.`,
      sensitive: true,
      required: false,
      default: ''
    }
  ]);
  return {
    manifest_version: '0.3',
    name: title,
    display_name: title,
    version: about.version,
    description: summary,
    long_description:
      'Agents are your own installed programs (Claude Code, Codex, Copilot CLI, Gemini CLI, Cursor) with their own logins, and models by API with your keys. They work in the folder that you choose, with full access by default; all prompts and answers are in `logs/IAC.md` there.',
    author: { name: 'the troupe contributors' },
    license: about.license,
    keywords: about.keywords,
    server: {
      type: 'node',
      entry_point: 'dist/troupe.cjs',
      mcp_config: {
        command: 'node',
        args: [
          '${__dirname}/dist/troupe.cjs',
          ...['mcp', '--workspace', '${user_config.workspace}']
        ],
        env: Object.fromEntries(
          keys.map(({ name }) => [
            name,
            `\${user_config.${name.toLowerCase()}}`
          ])
        )
      }
    },
    tools_generated: true,
    prompts_generated: true,
    compatibility: {
      platforms: ['darwin', 'linux'],
      runtimes: { node: about.engines.node }
    },
    user_config: {
      workspace: {
        type: 'directory',
        title: 'Project folder',
        description: 'Where agents work, and where their log is written.',
        required: true
      },
      ...Object.fromEntries(settings)
    }
  };
}
