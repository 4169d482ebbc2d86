import type { ApiName } from './asked.ts';

/** What may be wrong with a request, by the code it should end with. */
export const errorCases = {
  key: 'auth',
  forbidden: 'permission_denied',
  model: 'model_not_found',
  credit: 'quota',
  rate: 'rate_limited',
  context: 'context_too_long',
  broken: 'provider_error'
} as const;

export type ErrorCase = keyof typeof errorCases;

type Told = [status: number, body: object];

/** Status and body of each provider's errors: each has a form of its own. */
export function errorOf(engine: ApiName, which: ErrorCase): Told {
  switch (engine) {
    case 'grok':
      return xai[which];
    case 'openai':
      return openai[which];
    case 'gemini':
      return google[which];
    case 'mistral':
      return mistral[which];
    case 'claude-api':
      return anthropic[which];
  }
}

/** xAI answers 400 to a wrong key, and 403 without credit. */
const xai: Record<ErrorCase, Told> = {
  key: [
    400,
    {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: xa***ey.'
    }
  ],
  forbidden: [403, { code: 'The caller lacks the permission', error: 'No.' }],
  model: [
    404,
    {
      code: 'Some requested entity was not found',
      error:
        'The model m does not exist or your team has no access to it. Is it the correct API key?'
    }
  ],
  credit: [
    403,
    {
      code: 'The caller lacks the permission',
      error: 'Your team has no credits yet.'
    }
  ],
  rate: [
    429,
    {
      code: 'Some resource has been exhausted',
      error: 'Too many requests for team t and model m.'
    }
  ],
  context: [
    400,
    {
      code: 'Client specified an invalid argument',
      error:
        "This model's maximum prompt length is 10 but the request contains 20 tokens."
    }
  ],
  broken: [500, { code: 'Internal error', error: 'Something broke.' }]
};

const openai: Record<ErrorCase, Told> = {
  key: ofOpenai(401, 'Incorrect API key provided: sk-a***z.', {
    code: 'invalid_api_key'
  }),
  forbidden: ofOpenai(403, 'Project p has no access to this model.', {}),
  model: ofOpenai(400, "The requested model 'm' does not exist.", {
    code: 'model_not_found'
  }),
  credit: ofOpenai(429, 'You exceeded your current quota.', {
    type: 'insufficient_quota',
    code: 'insufficient_quota'
  }),
  rate: ofOpenai(
    429,
    'Rate limit reached for m on tokens per min (TPM). Add a payment method under billing to raise it.',
    { type: 'tokens', code: 'rate_limit_exceeded' }
  ),
  context: ofOpenai(400, 'Your input exceeds the context window.', {
    code: 'context_length_exceeded'
  }),
  broken: ofOpenai(500, 'The server had an error.', { type: 'server_error' })
};

function ofOpenai(status: number, message: string, more: object): Told {
  const error = { message, type: 'invalid_request_error', code: null, ...more };
  return [status, { error: { ...error, param: null } }];
}

/** Google answers 400 to a wrong key, and "quota" to every 429. */
const google: Record<ErrorCase, Told> = {
  key: ofGoogle(400, 'INVALID_ARGUMENT', 'API key not valid.', [
    { reason: 'API_KEY_INVALID', domain: 'googleapis.com' }
  ]),
  forbidden: ofGoogle(403, 'PERMISSION_DENIED', 'This is not allowed.'),
  model: ofGoogle(
    404,
    'NOT_FOUND',
    'models/m is not found for API version v1beta.'
  ),
  credit: ofGoogle(429, 'RESOURCE_EXHAUSTED', 'You exceeded your quota.', [
    { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }] }
  ]),
  rate: ofGoogle(429, 'RESOURCE_EXHAUSTED', 'You exceeded your quota.', [
    { violations: [{ quotaId: 'GenerateRequestsPerMinutePerProject' }] },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }
  ]),
  context: ofGoogle(
    400,
    'INVALID_ARGUMENT',
    'The input token count (20) exceeds the maximum number of tokens allowed (10).'
  ),
  broken: ofGoogle(500, 'INTERNAL', 'An internal error has occurred.')
};

function ofGoogle(
  code: number,
  status: string,
  message: string,
  details: object[] = []
): Told {
  return [code, { error: { code, message, status, details } }];
}

const mistral: Record<ErrorCase, Told> = {
  key: [401, { detail: 'Unauthorized' }],
  forbidden: [403, { detail: 'This is not allowed.' }],
  model: ofMistral(400, 'Invalid model: m', 'invalid_model', '1500'),
  credit: [402, { detail: 'The workspace has reached its limit.' }],
  rate: ofMistral(429, 'Rate limit exceeded', 'rate_limited', '1300'),
  context: ofMistral(
    400,
    'Prompt contains 20 tokens and 0 draft tokens, too large for model with 10 maximum context length',
    'invalid_request_prompt',
    '3051'
  ),
  broken: ofMistral(
    500,
    'Service unavailable.',
    'internal_server_error',
    '3000'
  )
};

function ofMistral(
  status: number,
  message: string,
  type: string,
  code: string
): Told {
  const body = { object: 'error', message, type, param: null, code };
  return [status, { ...body, raw_status_code: status }];
}

const anthropic: Record<ErrorCase, Told> = {
  key: ofAnthropic(401, 'authentication_error', 'invalid x-api-key'),
  forbidden: ofAnthropic(403, 'permission_error', 'This key may not do that.'),
  model: ofAnthropic(404, 'not_found_error', 'model: m'),
  credit: ofAnthropic(
    400,
    'invalid_request_error',
    'Your credit balance is too low. Please go to Plans & Billing.'
  ),
  rate: ofAnthropic(429, 'rate_limit_error', 'Slower, please.'),
  context: ofAnthropic(
    400,
    'invalid_request_error',
    'prompt is too long: 20 tokens > 10 maximum'
  ),
  broken: ofAnthropic(529, 'overloaded_error', 'Overloaded')
};

function ofAnthropic(status: number, type: string, message: string): Told {
  return [status, { type: 'error', error: { type, message } }];
}
