/**
 * What is needed seldom, or weighs much: each in a file of its own below
 * dist/, which is loaded at its first use. So an installation has no package
 * beside troupe.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const sdks = 'plugins/sdk';

/** Package → what is used of it. */
export const packages = {
  '@clack/prompts': '*',
  '@pydantic/genai-prices': '{ calcPrice }',
  cosmiconfig: '{ defaultLoaders }',
  eta: '{ Eta }',
  'jsonc-parser': '*',
  'smol-toml': '*',
  yaml: '{ parse }'
};

/** For the programs in dist/, which then load these files. */
export const lazyFiles = {
  name: 'lazy-files',
  resolveId: (id) => {
    const sdk = /^\.\/sdk\/(.+)\.ts$/.exec(id)?.[1];
    const file = sdk ? `sdk-${sdk}` : id in packages ? fileNameOf(id) : null;
    return file && { id: `./lazy/${file}.js`, external: true };
  }
};

/**
 * @param {string} dist where they are written
 * @returns {Promise<string[]>} paths of the modules in them
 */
export async function writeLazyFiles(dist) {
  const entries = [
    ...Object.entries(packages).map(([name, names]) => [
      fileNameOf(name),
      `export ${names} from '${name}';`
    ]),
    ...readdirSync(join(root, sdks)).map((file) => [
      `sdk-${file.replace(/\.ts$/, '')}`,
      `export * from './${sdks}/${file}';`
    ])
  ];
  const inside = await Promise.all(
    entries.map(([name, source]) =>
      writeFile(join(dist, 'lazy', `${name}.js`), source)
    )
  );
  return inside.flat();
}

async function writeFile(file, source) {
  const entry = join(root, 'lazy-file.mjs');
  const build = await rolldown({
    input: entry,
    platform: 'node',
    // For configurations in TypeScript, which only some projects have.
    external: ['typescript'],
    // Not all have modules under `main`.
    resolve: { mainFields: ['module', 'main'] },
    // Of modules that were written for `require`.
    transform: {
      define: {
        __filename: 'import.meta.filename',
        __dirname: 'import.meta.dirname'
      }
    },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? source : null)
      }
    ]
  });
  const { output } = await build.write({
    file,
    format: 'esm',
    codeSplitting: false,
    minify: true
  });
  await build.close();
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

function fileNameOf(name) {
  return name.replace('@', '').replace('/', '-');
}
