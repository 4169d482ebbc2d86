import metadata from '../package.json' with { type: 'json' };

export const version: string = metadata.version;
