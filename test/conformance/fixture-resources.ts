import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { image } from './fixture-content.ts';

const fixed = [
  {
    uri: 'test://static-text',
    name: 'static text',
    description: 'A text.',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.'
  },
  {
    uri: 'test://watched-resource',
    name: 'watched',
    description: 'A text to follow.',
    mimeType: 'text/plain',
    text: 'It stays as it is.'
  },
  {
    uri: 'test://static-binary',
    name: 'static image',
    description: 'An image.',
    mimeType: image.mimeType,
    blob: image.data
  }
];

/** The resources that the conformance suite reads and follows. */
export function serveResources(server: Server): void {
  const followed = new Set<string>();
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: fixed.map(({ uri, name, description, mimeType }) => ({
      ...{ uri, name, description, mimeType }
    }))
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      {
        uriTemplate: 'test://template/{id}/data',
        name: 'template',
        description: 'Data of an id.',
        mimeType: 'application/json'
      }
    ]
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    contentsOf(params.uri)
  );
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    followed.add(params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    followed.delete(params.uri);
    return {};
  });
}

function contentsOf(uri: string): ReadResourceResult {
  const found = fixed.find((one) => one.uri === uri);
  if (found?.blob !== undefined)
    return { contents: [{ uri, mimeType: found.mimeType, blob: found.blob }] };
  if (found?.text !== undefined)
    return { contents: [{ uri, mimeType: found.mimeType, text: found.text }] };
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined)
    throw new McpError(-32002, 'Resource not found', { uri });
  const text = JSON.stringify({
    id,
    templateTest: true,
    data: `Data for ID: ${id}`
  });
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}
