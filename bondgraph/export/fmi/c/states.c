/* Saved states of an instance, which can be moved to another instance and turned into bytes. */

static int save(Instance *c, void **state)
{
    Saved *saved = !state ? NULL : *state ? *state : malloc(sizeof *saved);
    if (!saved)
        return refuse(c, "there is not enough memory for a state");
    *state = saved;
    saved->key = KEY;
    saved->base = (uint64_t)(uintptr_t)c->block;
    saved->s = c->s;
    memcpy(saved->words[0], c->block, sizeof saved->words[0]);
    memcpy(saved->words[1], c->before, sizeof saved->words[1]);
    return FINE;
}

/* Adjust the addresses in a block that was at `base`. */
static void relocate(char *words, uint64_t base, const char *block)
{
    for (size_t k = 0; k < sizeof pointers / sizeof *pointers; k++) {
        const uint64_t place = (uint64_t)whole_at(words, pointers[k]);
        if (place >= base && place <= base + 8 * (uint64_t)WORDS)
            set_whole(words, pointers[k], (int64_t)((uint64_t)(uintptr_t)block + (place - base)));
    }
    for (size_t k = 0; k < sizeof fmu_calls / sizeof *fmu_calls; k++)
        set_whole(words, fmu_calls[k][0], (int64_t)(uintptr_t)fmu_functions[fmu_calls[k][1]]);
}

static int restore(Instance *c, const void *state)
{
    const Saved *saved = state;
    if (!saved || saved->key != KEY || saved->s.kind != c->s.kind)
        return refuse(c, "this is not a state of this model and of this kind of instance");
    c->s = saved->s;
    memcpy(c->block, saved->words[0], sizeof saved->words[0]);
    memcpy(c->before, saved->words[1], sizeof saved->words[1]);
    relocate(c->block, saved->base, c->block);
    relocate(c->before, saved->base, c->block);
#if HAS_EVENTS
    set_place(c->block, AT_S_ALL_HELD, c->held);
    set_place(c->before, AT_S_ALL_HELD, c->held);
#endif
    give_rows(c, 0);
    return FINE;
}

static int forget(void **state)
{
    if (state) {
        free(*state);
        *state = NULL;
    }
    return FINE;
}

static int serialize(Instance *c, const void *state, void *bytes, size_t capacity)
{
    if (!state || capacity < sizeof(Saved))
        return refuse(c, "a state has %zu bytes", sizeof(Saved));
    memcpy(bytes, state, sizeof(Saved));
    return FINE;
}

static int deserialize(Instance *c, const void *bytes, size_t count, void **state)
{
    uint64_t key = 0;
    if (state && count == sizeof(Saved))
        memcpy(&key, bytes, sizeof key);
    if (key != KEY)
        return refuse(c, "these bytes are not a state of this model");
    if (!*state)
        *state = malloc(sizeof(Saved));
    if (!*state)
        return refuse(c, "there is not enough memory for a state");
    memcpy(*state, bytes, sizeof(Saved));
    return FINE;
}
