import { code, listed, prose, table, warning } from './markdown.mjs';

const start = `# Reference: command line

${warning}

Every command with its arguments and flags, as in \`troupe help COMMAND\`. What the commands do, their exit codes and what \`--json\` prints: [command line](../guides/command-line.md).
`;

/**
 * @param programs of commander, each with its commands
 * @param documents names of what commands print with `--json`
 */
export function commandLinePage(programs, documents) {
  const parts = programs.flatMap((program) =>
    program.commands
      .filter(({ _hidden: isHidden }) => !isHidden)
      // `council` is a program with its own commands.
      .filter((command) => command.commands.length === 0)
      .map((command) => commandPart(command, program.name()))
  );
  const output = `With \`--json\`, a command prints one of the documents that \`$defs\` of \`troupe-output.schema.json\` defines: ${listed(documents)}.\n`;
  return [start, output, ...parts].join('\n');
}

function commandPart(command, program) {
  const name = `${program} ${command.name()}`;
  const words = command.registeredArguments.map((argument) => [
    code(argument.name()),
    prose(argument.description)
  ]);
  const flags = command.options.filter(({ hidden }) => !hidden).map(flagRow);
  return [
    `## ${name}\n`,
    `${sentence(command.description())}\n`,
    `${code(`${name} ${command.usage()}`)}\n`,
    ...(words.length > 0 ? [`${table(['Argument', 'Meaning'], words)}\n`] : []),
    `${table(['Flag', 'Meaning'], flags)}\n`,
    ...examplesOf(command)
  ].join('\n');
}

function flagRow({ flags, description, argChoices, defaultValue }) {
  const more = [
    argChoices && `one of ${argChoices.map(code).join(', ')}`,
    defaultValue !== undefined && `default: ${code(defaultValue)}`
  ].filter(Boolean);
  const meaning = prose(description);
  return [code(flags), [meaning, ...more].join('; ')];
}

/** The examples at the end of a command's help. */
function examplesOf(command) {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  const [, lines = ''] = help.split('\nExamples:\n');
  const shown = lines.match(/(?<=^ {2}\$ ).*$/gm) ?? [];
  return shown.length === 0 ? [] : [`\`\`\`sh\n${shown.join('\n')}\n\`\`\`\n`];
}

function sentence(text) {
  const words = prose(text);
  return `${words[0]?.toUpperCase()}${words.slice(1)}${/[.!]$/.test(words) ? '' : '.'}`;
}
