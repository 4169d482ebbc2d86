import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { AddedCall, AddedTool } from '../../src/index.ts';
import { audio, embedded, image, text } from './fixture-content.ts';
import { elicitationTools } from './fixture-elicitations.ts';
import manyKeywords from './many-keywords.json' with { type: 'json' };

const nothing = { type: 'object', properties: {} };
const pauseMs = 50;

function tool(
  name: string,
  description: string,
  call: AddedTool['call'],
  inputSchema: Record<string, unknown> = nothing
): AddedTool {
  return { name, description, inputSchema, call };
}

/** The tools that the conformance suite calls, by its own description. */
export const fixtureTools: AddedTool[] = [
  tool('test_simple_text', 'Answers a text.', () => ({
    content: [text('This is a simple text response for testing.')]
  })),
  tool('test_image_content', 'Answers an image.', () => ({ content: [image] })),
  tool('test_audio_content', 'Answers a sound.', () => ({ content: [audio] })),
  tool('test_embedded_resource', 'Answers a resource.', () => ({
    content: [
      embedded(
        'test://embedded-resource',
        'text/plain',
        'This is an embedded resource content.'
      )
    ]
  })),
  tool('test_multiple_content_types', 'Answers several things.', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      embedded(
        'test://mixed-content-resource',
        'application/json',
        '{"test":"data","value":123}'
      )
    ]
  })),
  tool('test_tool_with_logging', 'Tells how it goes.', withLogging),
  tool('test_tool_with_progress', 'Tells how far it is.', withProgress),
  tool('test_error_handling', 'Fails.', () => ({
    isError: true,
    content: [text('This tool intentionally returns an error for testing')]
  })),
  tool(
    'test_sampling',
    'Asks the model of its client.',
    sampled,
    ofOne('prompt')
  ),
  tool(
    'json_schema_2020_12_tool',
    'Tool with JSON Schema 2020-12 features',
    () => ({ content: [text('It takes anything.')] }),
    manyKeywords
  ),
  ...elicitationTools
];

/** A schema with one text. */
function ofOne(name: string): Record<string, unknown> {
  return {
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name]
  };
}

async function withLogging(_: unknown, { sendNotification }: AddedCall) {
  const steps = [
    'Tool execution started',
    'Tool processing data',
    'Tool execution completed'
  ];
  for (const data of steps) {
    await sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data }
    });
    await delay(pauseMs);
  }
  return { content: [text('It has logged.')] };
}

async function withProgress(
  _: unknown,
  { sendNotification, _meta }: AddedCall
) {
  const progressToken = _meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 }
      });
    await delay(pauseMs);
  }
  return { content: [text('It is done.')] };
}

const sampleInput = z.object({ prompt: z.string() });

async function sampled(input: unknown, { server, requestId }: AddedCall) {
  const { prompt } = sampleInput.parse(input);
  const { content } = await server.createMessage(
    {
      messages: [{ role: 'user', content: text(prompt) }],
      maxTokens: 100
    },
    { relatedRequestId: requestId }
  );
  const said = content.type === 'text' ? content.text : content.type;
  return { content: [text(`LLM response: ${said}`)] };
}
