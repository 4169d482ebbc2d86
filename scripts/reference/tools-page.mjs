import { defaultOf, typeOf } from './json-type.mjs';
import { code, listed, prose, table, warning } from './markdown.mjs';

const start = `# Reference: tools, prompts, resources and roles

${warning}

Every description and parameter, as a server sends them. How the tools are used, what they return and which errors they give: [tools](../guides/tools.md). Unknown parameters are refused, and so are texts and lists that are too long or empty; the error names the limit.

**Hints** help clients decide whether to ask their user: \`readOnly\` changes nothing, \`destructive\` may change files or end agents, \`idempotent\` has the same effect when repeated, \`openWorld\` starts an agent. An error answers with \`error_code\`, \`error\` and \`hint\` instead.
`;

/**
 * @param toolsets each toolset with its name and its tools
 * @param extras prompts, resources and built-in roles
 */
export function toolsPage({ toolsets, extras }) {
  const parts = toolsets.flatMap(({ name, tools }) => [
    `## Toolset ${code(name)}\n`,
    ...(name === 'spawn' ? spawnParts(tools) : tools.map(toolPart))
  ]);
  return [
    start,
    ...parts,
    promptPart(extras),
    resourcePart(extras),
    rolePart(extras)
  ].join('\n');
}

/** Joins the spawn tools of a kind of engine: their parameters are equal. */
function spawnParts(tools) {
  const all = tools.filter(({ name }) => name.startsWith('spawn_'));
  const isProgram = ({ inputSchema }) => 'cwd' in inputSchema.properties;
  const part = (heading, kind) => {
    const [first] = kind;
    const rows = kind.map(({ name, description }) => [
      code(name),
      prose(shortly(description))
    ]);
    return [
      `### ${heading}\n`,
      `${table(['Tool', 'Starts'], rows)}\n`,
      ...facts(first)
    ].join('\n');
  };
  return [
    part('spawn_engine, where the engine is a program', all.filter(isProgram)),
    part(
      'spawn_engine, where the engine is an API',
      all.filter((tool) => !isProgram(tool))
    ),
    ...tools.filter((tool) => !all.includes(tool)).map(toolPart)
  ];
}

/** Removes the words that are in the description of each spawn tool. */
function shortly(description) {
  return description.replace(
    /^(?:Starts|Asks) (.*?) in the background; .*? answer\. /,
    '$1: '
  );
}

function toolPart(tool) {
  return [
    `### ${tool.name}\n`,
    `${prose(tool.description)} [More](../guides/tools.md#${tool.name})\n`,
    ...facts(tool)
  ].join('\n');
}

function facts({ inputSchema, annotations }) {
  const hints = Object.entries(annotations)
    .filter(([, is]) => is)
    .map(([name]) => name.replace(/Hint$/, ''));
  const rows = parameters(inputSchema);
  return [
    rows.length > 0
      ? `${table(['Parameter', 'Type', 'Default', 'Meaning'], rows)}\n`
      : 'It takes no parameters.\n',
    `Hints: ${hints.length > 0 ? listed(hints) : 'none'}.\n`
  ];
}

/** Includes the fields of objects, with their paths. */
function parameters({ properties = {}, required = [] }, path = '') {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const isList = schema.type === 'array';
    const inner = isList ? (schema.items ?? {}) : schema;
    const below = `${path}${name}${isList ? '[]' : ''}.`;
    return [
      [
        code(`${path}${name}`),
        typeOf(schema),
        required.includes(name) ? 'required' : (defaultOf(schema) ?? ''),
        prose(schema.description ?? '')
      ],
      ...(inner.properties ? parameters(inner, below) : [])
    ];
  });
}

function resourcePart({ resources, templates }) {
  const rows = [
    ...resources.map(({ uri, ...rest }) => ({ uri, ...rest })),
    ...templates.map(({ uriTemplate, ...rest }) => ({
      uri: uriTemplate,
      ...rest
    }))
  ].map(({ uri, description, mimeType }) => [
    code(uri),
    mimeType ? code(mimeType) : '',
    prose(description ?? '')
  ]);
  return `## Resources\n\nWith the toolsets whose agents they show.\n\n${table(['Resource', 'Type', 'What it is'], rows)}\n`;
}

function rolePart({ roles }) {
  const rows = roles.map(({ id, description }) => [
    code(id),
    prose(description)
  ]);
  return `## Built-in roles\n\nFor [squads](../guides/squads.md#roles) and workers, as \`list_roles\` returns them.\n\n${table(['Role', 'Description'], rows)}\n`;
}

function promptPart({ prompts }) {
  const rows = prompts.flatMap(
    ({ name, description, arguments: wanted = [] }) => [
      [code(name), '', '', prose(description ?? '')],
      ...wanted.map((argument) => ['', ...argumentCells(argument)])
    ]
  );
  const head = ['Prompt', 'Argument', '', 'What it is'];
  return `## Prompts\n\nWith the toolsets that they need, see [prompts](../start/prompts.md#what-holds).\n\n${table(head, rows)}\n`;
}

function argumentCells({ name, required, description }) {
  return [code(name), required ? 'required' : '', prose(description ?? '')];
}
