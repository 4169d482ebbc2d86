#!/usr/bin/env node
// Runs `council …` as `troupe council …`.
process.argv.splice(2, 0, 'council');
require('./troupe.cjs');
