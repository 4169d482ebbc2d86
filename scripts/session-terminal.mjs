/** A shell in a terminal of tmux, for scripts/record-session.mjs. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const pollMs = 40;

export function openTerminal({ stage, root, directory, size, pauseSeconds }) {
  const streamFile = join(stage, 'stream');
  const promptsFile = join(stage, 'prompts');
  const settingsFile = join(stage, 'bashrc');
  /** Has Node, npm and the system's programs, without settings of the user. */
  const env = {
    HOME: join(stage, 'home'),
    PATH: `${join(stage, 'bin')}:/usr/bin:/bin`,
    TMPDIR: stage,
    // A repository around it must not be found.
    GIT_CEILING_DIRECTORIES: stage,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SHELL: '/bin/bash',
    HISTFILE: '/dev/null',
    npm_config_update_notifier: 'false',
    DEMO_PAUSE_SECONDS: String(pauseSeconds)
  };
  const tmux = (...args) => {
    const server = ['-u', '-f', '/dev/null', '-S', join(stage, 'tmux.sock')];
    return execFileSync('tmux', [...server, ...args], {
      encoding: 'utf8',
      env
    });
  };
  for (const name of ['home', 'bin']) mkdirSync(join(stage, name));
  for (const file of [streamFile, promptsFile]) writeFileSync(file, '');
  writeFileSync(settingsFile, settings(root, promptsFile));
  linkPrograms(join(stage, 'bin'));
  const shape = ['-x', `${size.columns}`, '-y', `${size.rows}`];
  const shell = `stty -echo; read go; stty echo; clear; exec bash --noprofile --rcfile ${quoted(settingsFile)}`;
  tmux('new-session', '-d', '-s', 'main', '-c', directory, ...shape, shell);
  tmux('set', '-g', 'status', 'off');
  const shellPid = Number(tmux('display', '-p', '-t', 'main', '#{pane_pid}'));
  tmux('pipe-pane', '-t', 'main', `cat >> ${quoted(streamFile)}`);
  tmux('send-keys', '-t', 'main', 'Enter');

  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const chunks = [];
  const screens = [];
  let read = 0;
  const sample = () => {
    const stream = readFileSync(streamFile);
    if (stream.length > read)
      chunks.push({ at: seconds(), bytes: stream.subarray(read) });
    read = stream.length;
    const text = tmux('capture-pane', '-e', '-p', '-t', 'main');
    if (text !== screens.at(-1)?.text) screens.push({ at: seconds(), text });
  };

  return {
    press: (key) => {
      const literal = [...key].length === 1 ? ['-l'] : [];
      tmux('send-keys', '-t', 'main', ...literal, key);
    },
    /** Records until `isOver` returns true, for at most `ms`. */
    watch: async (ms, isOver = () => false) => {
      const until = performance.now() + ms;
      do {
        sample();
        if (isOver()) return true;
        await setTimeout(pollMs);
      } while (performance.now() < until);
      return false;
    },
    shows: (pattern) => pattern.test(tmux('capture-pane', '-p', '-t', 'main')),
    /** How many prompts the shell has printed. */
    prompts: () => readFileSync(promptsFile).length,
    /** The output and each distinct screen, with their times. */
    seen: () => ({ chunks, screens }),
    /** The whole scrollback, with wrapped lines joined. */
    text: () => tmux('capture-pane', '-p', '-J', '-S', '-', '-t', 'main'),
    close: async () => {
      tmux('kill-server');
      // The shell may still write files.
      while (isAlive(shellPid)) await setTimeout(pollMs);
    }
  };
}

/** The bashrc, in which `troupe` runs the build of this clone. */
function settings(root, promptsFile) {
  return `
PS1='\\[\\e[32m\\]$\\[\\e[0m\\] '
PROMPT_COMMAND=${quoted(`echo >> ${quoted(promptsFile)}`)}
bind 'set enable-bracketed-paste off'
troupe() { node ${quoted(join(root, 'dist', 'troupe.cjs'))} "$@"; }
`;
}

/** One word for a POSIX shell. */
function quoted(word) {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function linkPrograms(bin) {
  const npm = realpathSync(join(dirname(process.execPath), 'npm'));
  for (const [name, path] of Object.entries({ node: process.execPath, npm }))
    symlinkSync(path, join(bin, name));
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
