import { expect, test } from 'vitest';
import { inheritedVariables } from '../src/core/engines/environment.ts';
import { builtinEngines, optionalEngines } from './index.ts';

const aws = {
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
  AWS_SESSION_TOKEN: 'x',
  AWS_PROFILE: 'x',
  AWS_REGION: 'x',
  AWS_BEARER_TOKEN_BEDROCK: 'x'
};
const google = {
  GOOGLE_APPLICATION_CREDENTIALS: '/x',
  GOOGLE_CLOUD_ACCESS_TOKEN: 'x'
};
const vertex = {
  ANTHROPIC_VERTEX_PROJECT_ID: 'x',
  CLOUD_ML_REGION: 'x',
  VERTEX_REGION_CLAUDE_HAIKU: 'x'
};
const azure = {
  ANTHROPIC_FOUNDRY_API_KEY: 'x',
  ANTHROPIC_FOUNDRY_RESOURCE: 'x',
  AZURE_CLIENT_SECRET: 'x'
};
const clouds: Record<string, string> = {
  ...aws,
  ...google,
  ...vertex,
  ...azure
};

function cloudsOf(name: string, switches: Record<string, string> = {}) {
  const engine = [...builtinEngines, ...optionalEngines].find(
    (one) => one.name === name
  );
  if (engine?.kind !== 'cli') throw new Error(`${name} is no program`);
  const given = inheritedVariables(engine.env, {}, { ...clouds, ...switches });
  return Object.keys(given)
    .filter((name) => name in clouds)
    .sort();
}

const programs = [...builtinEngines, ...optionalEngines].flatMap((engine) =>
  engine.kind === 'cli' ? [engine.name] : []
);

test.each(programs)(
  '%s gets no credentials of a cloud while its switch is off',
  (name) => {
    expect(cloudsOf(name)).toEqual([]);
    for (const off of ['', '0', 'false'])
      expect(
        cloudsOf(name, {
          CLAUDE_CODE_USE_BEDROCK: off,
          CLAUDE_CODE_USE_VERTEX: off,
          CLAUDE_CODE_USE_FOUNDRY: off,
          GOOGLE_GENAI_USE_VERTEXAI: off,
          GOOGLE_GENAI_USE_GCA: off
        })
      ).toEqual([]);
  }
);

test.each([
  ['claude', 'CLAUDE_CODE_USE_BEDROCK', aws],
  ['claude', 'CLAUDE_CODE_USE_ANTHROPIC_AWS', aws],
  [
    'claude',
    'CLAUDE_CODE_USE_VERTEX',
    { ...vertex, GOOGLE_APPLICATION_CREDENTIALS: '/x' }
  ],
  ['claude', 'CLAUDE_CODE_USE_FOUNDRY', azure],
  ['gemini-cli', 'GOOGLE_GENAI_USE_VERTEXAI', google],
  ['gemini-cli', 'GOOGLE_GENAI_USE_GCA', google]
])('%s with %s gets the variables of that cloud only', (name, its, wanted) => {
  expect(cloudsOf(name, { [its]: '1' })).toEqual(Object.keys(wanted).sort());
  for (const other of programs.filter((one) => one !== name))
    expect(cloudsOf(other, { [its]: '1' })).toEqual([]);
});
