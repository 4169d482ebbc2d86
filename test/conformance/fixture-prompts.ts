import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CompleteRequestSchema,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { embedded, image, text } from './fixture-content.ts';

type Content = GetPromptResult['messages'][number]['content'];

interface Prompt {
  name: string;
  description: string;
  arguments?: { name: string; required: boolean }[];
  content: (values: Record<string, string>) => Content[];
}

const prompts: Prompt[] = [
  {
    name: 'test_simple_prompt',
    description: 'Says one thing.',
    content: () => [text('This is a simple prompt for testing.')]
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'Says what it is given.',
    arguments: [
      { name: 'arg1', required: true },
      { name: 'arg2', required: true }
    ],
    content: ({ arg1, arg2 }) => [
      text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)
    ]
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'Holds a resource.',
    arguments: [{ name: 'resourceUri', required: true }],
    content: ({ resourceUri = '' }) => [
      embedded(
        resourceUri,
        'text/plain',
        'Embedded resource content for testing.'
      ),
      text('Please process the embedded resource above.')
    ]
  },
  {
    name: 'test_prompt_with_image',
    description: 'Holds an image.',
    content: () => [image, text('Please analyze the image above.')]
  }
];

/** The prompts that the conformance suite gets, and their completion. */
export function servePrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: prompts.map(({ content, ...told }) => told)
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = prompts.find(({ name }) => name === params.name);
    if (!prompt) throw new Error(`There is no prompt ${params.name}.`);
    return {
      messages: prompt
        .content(params.arguments ?? {})
        .map((content) => ({ role: 'user' as const, content }))
    };
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
    const values = ['paris', 'park', 'party'].filter((word) =>
      word.startsWith(params.argument.value)
    );
    return { completion: { values, total: values.length, hasMore: false } };
  });
}
