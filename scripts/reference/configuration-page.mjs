import { defaultOf, typeOf } from './json-type.mjs';
import { code, table, warning } from './markdown.mjs';

const start = `# Reference: configuration

${warning}

Every key of the configuration file, with the environment variable and the flag of \`troupe mcp\` that take precedence over it. Where the file is and how settings work together: [configuration](../guides/configuration.md). Editors complete the keys with \`"$schema": "./node_modules/troupe/troupe.schema.json"\`. Unknown keys are refused.
`;

/**
 * @param schema the JSON Schema of the file
 * @param names a key, such as `squad.engine` → its variable and its flag
 */
export function configurationPage(schema, names) {
  const groups = [];
  const rows = rowsOf(schema, '', names, groups);
  const parts = groups.map(({ path, description, rows }) =>
    [`## ${code(path)}\n`, `${description}\n`, `${keyTable(rows)}\n`].join('\n')
  );
  return [start, '## Keys\n', `${keyTable(rows)}\n`, ...parts].join('\n');
}

function keyTable(rows) {
  // Empty columns are left out.
  const head = ['Key', 'Type', 'Default', 'Variable', 'Flag', 'Meaning'];
  const used = head.map((_, column) => rows.some((row) => row[column]));
  const kept = (cells) => cells.filter((_, column) => used[column]);
  return table(kept(head), rows.map(kept));
}

/** Rows of an object's keys. Objects become groups. */
function rowsOf({ properties }, path, names, groups) {
  return Object.entries(properties).map(([key, schema]) => {
    const full = `${path}${key}`;
    const [inner, innerPath] = objectIn(schema, full);
    if (inner) {
      const group = {
        path: innerPath,
        description: descriptionOf(inner, schema)
      };
      groups.push(group);
      group.rows = rowsOf(inner, `${full}.`, names, groups);
    }
    const { variable, flag } = names[full] ?? {};
    return [
      code(key),
      typeOf(schema),
      inner ? '' : defaultOf(schema),
      variable && code(variable),
      flag && code(flag),
      schema.description ?? ''
    ];
  });
}

/** The object schema of a key, or of each value in its map. */
function objectIn(schema, path) {
  if (schema.properties) return [schema, path];
  const others = schema.additionalProperties;
  const inner = [others?.anyOf ?? others ?? []]
    .flat()
    .find((one) => one.properties);
  return [inner, `${path}.<name>`];
}

function descriptionOf(inner, outer) {
  return inner.description ?? outer.description ?? '';
}
