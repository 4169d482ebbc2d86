#!/usr/bin/env node
// `council …` is `troupe council …`.
process.argv.splice(2, 0, 'council');
require('./troupe.cjs');
