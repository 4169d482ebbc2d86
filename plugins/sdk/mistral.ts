/** Only the chat functions: the whole SDK takes four times as long to load. */
export { MistralCore } from '@mistralai/mistralai/core.js';
export { chatComplete } from '@mistralai/mistralai/funcs/chatComplete.js';
export { chatStream } from '@mistralai/mistralai/funcs/chatStream.js';
export { EventStream } from '@mistralai/mistralai/lib/event-streams.js';
export { HTTPClient } from '@mistralai/mistralai/lib/http.js';
export { ResponseValidationError } from '@mistralai/mistralai/models/errors/responsevalidationerror.js';
export { unwrapAsync } from '@mistralai/mistralai/types/fp.js';
