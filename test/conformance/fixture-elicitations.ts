import type { ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { AddedCall, AddedTool } from '../../src/index.ts';
import { text } from './fixture-content.ts';

type Form = ElicitRequestFormParams['requestedSchema'];

const person: Form = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" }
  },
  required: ['username', 'email']
};

const defaults: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: {
      type: 'string',
      enum: ['active', 'inactive', 'pending'],
      default: 'active'
    },
    verified: { type: 'boolean', default: true }
  }
};

const options = ['option1', 'option2', 'option3'];

function titled(what: string) {
  return ['First', 'Second', 'Third'].map((nth, index) => ({
    const: `value${index + 1}`,
    title: `${nth} ${what}`
  }));
}

const enums: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three']
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } }
  }
};

const asked = z.object({ message: z.string() });

/** Tools that ask the user of their client. */
export const elicitationTools: AddedTool[] = [
  {
    name: 'test_elicitation',
    description: 'Asks its user for a name.',
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message']
    },
    call: async (input, call) =>
      told('User response', await ask(asked.parse(input).message, person, call))
  },
  {
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks its user, with answers to begin with.',
    inputSchema: { type: 'object', properties: {} },
    call: async (_, call) =>
      told('Elicitation completed', await ask('Who?', defaults, call))
  },
  {
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks its user to choose.',
    inputSchema: { type: 'object', properties: {} },
    call: async (_, call) =>
      told('Elicitation completed', await ask('Which?', enums, call))
  }
];

function ask(
  message: string,
  requestedSchema: Form,
  { server, requestId }: AddedCall
) {
  return server.elicitInput(
    { mode: 'form', message, requestedSchema },
    { relatedRequestId: requestId }
  );
}

function told(
  what: string,
  { action, content = {} }: Awaited<ReturnType<typeof ask>>
) {
  const said = `action=${action}, content=${JSON.stringify(content)}`;
  return { content: [text(`${what}: ${said}`)] };
}
