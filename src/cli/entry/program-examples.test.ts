import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandsIn } from '../../../test/docs/shell-words.ts';
import { createCouncil } from '../commands/serve/server-commands.ts';
import { createProgram, throwUsageErrors } from './program.ts';

/** The program with commands that do nothing. */
function idleProgram(): Command {
  const program = createProgram();
  const idle = (command: Command) => {
    command.action(() => undefined);
    command.commands.forEach(idle);
  };
  program.commands.forEach(idle);
  return program;
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    }
  });
  command.outputHelp();
  return text;
}

const shown = [
  ...createProgram().commands.filter((one) => !one.name().startsWith('_')),
  ...createCouncil().commands
];

test.each(shown.map((command) => [command.name(), command] as const))(
  'the examples in the help of %s are valid commands',
  async (_, command) => {
    const lines = [...helpOf(command).matchAll(/^ {2}\$ (.+)$/gm)];
    expect(lines.length).toBeGreaterThan(0);
    const commands = lines.flatMap(([, line = '']) => commandsIn(line));
    const own = commands.filter(([name]) =>
      /^(troupe|council)$/.test(name ?? '')
    );
    expect(own.length).toBeGreaterThan(0);
    for (const [name, ...words] of own) {
      const council = createCouncil();
      throwUsageErrors(council, 'council');
      if (words.includes('--help')) continue;
      if (name === 'council') council.commands[0]?.action(() => undefined);
      const parser = name === 'council' ? council : idleProgram();
      await expect(
        parser.parseAsync(words, { from: 'user' }),
        words.join(' ')
      ).resolves.toBeDefined();
    }
  }
);

test.each(shown.map((command) => [command.name(), command] as const))(
  'every flag and argument of %s has a description',
  (_, command) => {
    for (const { description, flags } of command.options)
      expect(description, flags).toMatch(/\S{2}/);
    for (const argument of command.registeredArguments)
      expect(argument.description, argument.name()).toMatch(/\S{2}/);
  }
);
