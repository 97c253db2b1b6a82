"""The list of mutants: the bug in words, its injection, and what catches it."""

from __future__ import annotations

import hush
from hush import releases
from tests.mutants import bugs, ledger_bugs, rank_bugs, seam_bugs, selection_bugs
from tests.mutants.bugs import REPLACE, Mutant, audit_of, audit_of_release

GOLDEN = "tests.golden.test_published_numbers"
SELECTION = "tests.mechanisms.test_selection_vs_enumeration"
GAMES = "tests.ledger.test_filters_vs_enumeration"
RANKS = "tests.learning.distributed.test_ranks_vs_one_process"
NOISE, UNION, SUMS = (
    f"{RANKS}:{name}" for name in ("noise_in_a_new_folder", "union_in_a_new_folder", "sums_in_a_new_folder")
)
PAID = "tests.learning.distributed.test_ledger_with_ranks:paid_in_a_new_folder"
COUNTED = (
    "tests.learning.dpsgd.test_norms_and_noise_that_change:"
    "test_one_example_moves_gradient_and_count_by_what_noise_is_charged_for"
)
ONE_USER = "tests.learning.dpsgd.test_users_vs_plain_gradients:one_user_moves_one_norm"
LEFT = "tests.learning.model_state.test_what_one_row_leaves_for_the_next"
SEAMS = "tests.learning.dpsgd.test_seams_of_training"
STATED = "tests.mechanisms.test_stated_for_some_records_only"
SEARCH = "tests.learning.tuning.test_private_search"
CLIPPED = "tests.learning.per_example.test_clipped_sums_vs_plain_gradients"


def published() -> None:
    """tests.golden.test_published_numbers:TestCertified.test_default_tolerance"""
    from tests.golden.test_published_numbers import CERTIFIED, TestCertified

    TestCertified().test_default_tolerance(*CERTIFIED[0])


TRAP = {"params": {"T": 4, "c": [0.8, 0.6], "rate": 0.2, "epsilon": 0.5}, "value": 0.08737, "error": 8e-5}
"""Banded noise on plain Poisson samples: what it truly reveals."""

MUTANTS = [
    Mutant(
        "plain Poisson with banded noise accounted for as cyclic",
        bugs.any_scheme_for_banded_noise,
        "tests.truth.test_frontier_noise:test_plain_poisson_is_not_accounted_for_with_banded_noise",
        (TRAP,),
    ),
    Mutant(
        "parts taken from a shuffle of all records",
        bugs.parts_of_a_shuffle,
        "tests.mechanisms.test_spaced_schemes:test_parts_are_independent_and_never_an_even_split",
    ),
    Mutant(
        "the plain Poisson pair inside the last iterate of capped batches",
        bugs.poisson_pair_of_a_capped_step,
        "tests.mechanisms.test_sampled_descent_vs_grid:test_bound_is_above_exact_runs",
        (0.0, 1, 1),
    ),
    Mutant("one direction only", bugs.one_direction, published),
    Mutant(
        "a NaN that passes",
        bugs.no_number_passes,
        "tests.curves.test_declared_curves:test_a_formula_without_a_value_at_the_limits",
        (bugs.plain_laplace,),
    ),
    Mutant(
        "large losses of a mirrored mix forgotten",
        bugs.large_losses_forgotten,
        "tests.curves.test_reflected_pairs:test_tails_of_large_losses",
        (0.02, 0.1),
    ),
    Mutant(
        "means of ratios near 1, rounded",
        bugs.means_of_ratios_rounded,
        "tests.curves.test_any_allocation_vs_enumeration:test_small_epsilons_keep_their_digits",
        (1e-16, 3),
    ),
    Mutant(
        "what is left for a release of a small chance, rounded",
        bugs.rounding_of_what_is_left,
        "tests.mechanisms.test_either_vs_enumeration:test_a_small_share_does_not_blow_up_rounding",
        (1 - 1e-9, 1e-8),
    ),
    Mutant(
        "rounding of a small difference",
        bugs.rounding_of_small_differences,
        "tests.numerics.test_many_epsilons_vs_one:test_lines_far_from_where_they_were_made",
        (0.505, 4),
    ),
    Mutant(
        "rounding of weights far out forgotten",
        bugs.weights_without_rounding,
        "tests.numerics.test_quadrature_error_bounds:test_log_moment_far_out",
        (1e6, 1e-12),
    ),
    Mutant(
        "a largest loss as its own lower end",
        bugs.largest_loss_as_its_own_lower_end,
        "tests.curves.test_ends_of_losses:test_the_largest_loss_of_laplace_noise_lies_between_its_ends",
        (1.3, 2),
    ),
    Mutant(
        "the digits that log-gammas lose forgotten",
        bugs.beta_without_rounding,
        "tests.mechanisms.test_posterior_and_noisy_max:test_beta_posterior_with_a_strong_prior_vs_mpmath",
        (761807.75, 985.625, 1.125),
    ),
    Mutant(
        "an atom whose mass is rounded to 0 taken for certain",
        bugs.lost_atom_is_certain,
        "tests.curves.test_ends_of_losses:test_an_atom_whose_mass_is_beyond_floats_makes_no_lower_end",
    ),
    Mutant(
        "a largest loss rounded to the nearest",
        bugs.largest_loss_to_the_nearest,
        "tests.ledger.test_filters_vs_exact_plan:test_a_pure_budget_is_never_overdrawn_by_rounding",
        (3.0,),
    ),
    Mutant(
        "releases beside rare hits that weigh nothing",
        bugs.bystanders_weigh_nothing,
        "tests.laws.test_levels_beside_others:test_both_ends_are_near",
        ("Laplace",),
    ),
    Mutant(
        "atoms on a lattice without the losses past it",
        bugs.nothing_past_the_lattice,
        "tests.numerics.test_split_atoms_vs_enumeration:test_hundreds_of_steps_with_a_rare_hit",
        (1e-5, 40.0),
    ),
    Mutant(
        "a curve of attackers from above, without its corners",
        bugs.chords_instead_of_corners,
        "tests.curves.test_tradeoff_curve_vs_closed_form:test_coarse_points_hold_the_closed_form",
    ),
    Mutant(
        "a curve of attackers from below, from attained deltas",
        bugs.one_line_for_all_rates,
        "tests.curves.test_tradeoff_curve_vs_closed_form:test_coarse_points_hold_the_closed_form",
    ),
    Mutant(
        "rare values below the largest forgotten",
        bugs.mean_of_the_largest,
        "tests.numerics.test_positive_part_vs_mpmath:test_several_rare_positive_values_vs_the_exact_mean",
        ((1e-300, 1e-140),),
    ),
    Mutant("count ignored", bugs.count_ignored, f"{GOLDEN}:test_randomized_response_counts"),
    Mutant("rate rounded down", bugs.thinned(lambda rate: int(rate * 2**20) / 2**20), published),
    Mutant("one sample amplified twice", bugs.thinned(lambda rate: rate**2), published),
    Mutant(
        "sampled group as one record", bugs.group_as_one, f"{GOLDEN}:test_a_sampled_group_is_not_the_mix_of_its_pair"
    ),
    Mutant(
        "shuffled batches accounted as Poisson",
        bugs.shuffled_as_poisson,
        audit_of(lambda: hush.Gaussian(0.25).on(hush.ShuffledBatches(steps=4)), 0.01, 1500),
    ),
    Mutant(
        "replace-one with the sensitivity of add or remove",
        bugs.replacement_as_removal,
        audit_of(lambda: hush.Laplace(2.0).under(REPLACE), 0.0),
    ),
    Mutant(
        "record-level epsilon quoted for a group", bugs.group_ignored, audit_of(lambda: hush.Laplace(2.0).group(2), 0.0)
    ),
    Mutant("half the sensitivity of a Gaussian", bugs.gaussian_half, audit_of(lambda: hush.Gaussian(1.0), 0.01)),
    Mutant(
        "randomized response at half its epsilon",
        bugs.response_half,
        audit_of(lambda: hush.RandomizedResponse(epsilon=1.0, relation=REPLACE), 0.0),
    ),
    Mutant(
        "the mass of losses left out of a line forgotten",
        bugs.losses_left_out_forgotten,
        "tests.numerics.test_without_tail:test_what_is_left_out_is_added",
        (300.0, -1000.0),
    ),
    Mutant(
        "delta forgotten in a Rényi conversion",
        bugs.conversion_without_delta,
        "tests.curves.test_conversions_vs_two_points:test_a_whole_curve_lies_above_the_exact_answer",
        (hush.Gaussian(1.0),),
    ),
    Mutant(
        "samples larger than accounted for",
        bugs.draws_too_many,
        "tests.mechanisms.test_schemes_draw:test_inclusion_and_joint_inclusion",
        ("poisson, coins",),
    ),
    Mutant(
        "batches of fixed size accounted as Poisson",
        bugs.fixed_batches,
        "tests.mechanisms.test_schemes_draw:test_inclusion_and_joint_inclusion",
        ("poisson, coins",),
    ),
    Mutant(
        "random words that repeat",
        bugs.words_repeat,
        "tests.randomness.test_secure_streams:test_threads_draw_different_words",
    ),
    Mutant(
        "a seeded release labelled private",
        bugs.seeded_is_private,
        "tests.releases.test_release_interface:test_seeded_releases_are_labelled_and_refused",
    ),
    Mutant(
        "less noise than declared",
        bugs.noise_too_small,
        audit_of_release(lambda: releases.Count(epsilon=2.0), samples=4000),
    ),
    Mutant(
        "noise of a mean on a sum",
        bugs.sensitivity_over(3, releases.Sum),
        audit_of_release(lambda: releases.Sum(bounds=(0, 1), epsilon=1.0)),
    ),
    Mutant(
        "sensitivity of a mean with the wrong n",
        bugs.sensitivity_over(3, releases.Mean),
        audit_of_release(lambda: releases.Mean(bounds=(0, 1), epsilon=1.0, relation=REPLACE)),
    ),
    Mutant(
        "sensitivity of a variance without its square",
        bugs.sensitivity_over(2, releases.Variance),
        "tests.releases.test_replay_on_neighbours:test_what_is_declared_is_reached",
        (releases.Variance(bounds=(0, 10), epsilon=1.0),),
    ),
    Mutant(
        "a histogram whose record moves two cells",
        bugs.sensitivity_over(2, releases.Histogram),
        "tests.releases.test_replay_on_neighbours:test_what_is_declared_is_reached",
        (releases.Histogram(edges=(0, 1, 5, 2000), relation=REPLACE, epsilon=1.0),),
    ),
    Mutant(
        "noise made of floats",
        bugs.float_noise,
        audit_of_release(lambda: releases.Sum(bounds=(0, 1), epsilon=1.0), bits=True),
    ),
    Mutant(
        "values beyond the bounds not clamped",
        bugs.not_clamped,
        "tests.releases.test_hostile_data:test_fixed_places_of_odd_values",
    ),
    Mutant(
        "one sample used twice, charged once",
        bugs.sample_charged_once,
        "tests.releases.test_release_interface:test_two_uses_of_a_sample_vs_one_sample_of_both",
    ),
    Mutant(
        "off by one in the smooth sensitivity",
        bugs.smooth_off_by_one,
        "tests.releases.test_smooth_sensitivity_vs_brute_force:test_long_data_vs_definition_by_columns",
    ),
    Mutant(
        "too large a step of the exponential mechanism",
        bugs.quantile_too_sharp,
        bugs.audit_of_median,
    ),
    Mutant(
        "gradients not clipped",
        bugs.no_clipping,
        f"{CLIPPED}:test_against_vmap_of_grad",
        ("perceptron",),
        needs="torch",
    ),
    Mutant(
        "clipping after averaging",
        bugs.clipping_after_averaging,
        f"{CLIPPED}:test_against_vmap_of_grad",
        ("perceptron",),
        needs="torch",
    ),
    Mutant(
        "tied weights not counted",
        bugs.tied_weights_apart,
        f"{CLIPPED}:test_against_vmap_of_grad",
        ("tied",),
        needs="torch",
    ),
    Mutant(
        "each layer clipped to the whole norm",
        bugs.norm_of_each_layer,
        f"{CLIPPED}:test_against_vmap_of_grad",
        ("perceptron",),
        needs="torch",
    ),
    Mutant(
        "normalising by the drawn batch",
        bugs.drawn_batch_normalises,
        "tests.learning.dpsgd.test_training_vs_accountant:test_secure_noise_lies_on_a_grid_around_the_sum",
        needs="torch",
    ),
    Mutant(
        "an empty batch skipped",
        bugs.empty_batch_skipped,
        "tests.learning.dpsgd.test_training_vs_accountant:test_empty_batches_are_noised_steps",
        needs="torch",
    ),
    Mutant(
        "a buffer that passes",
        bugs.buffers_of_the_state_alone,
        "tests.learning.model_state.test_what_a_model_keeps:test_a_model_that_keeps_something_is_refused",
        ("non-persistent buffer",),
        needs="torch",
    ),
    Mutant(
        "views of an example clipped before their mean",
        bugs.views_clipped_before_the_mean,
        "tests.learning.dpsgd.test_what_follows_a_step:test_views_are_averaged_before_they_are_clipped",
        (3,),
        needs="torch",
    ),
    Mutant(
        "a moving average of weights without noise",
        bugs.average_of_weights_without_noise,
        "tests.learning.dpsgd.test_what_follows_a_step:test_the_average_is_that_of_the_weights_after_each_step",
        needs="torch",
    ),
    Mutant("training without noise", bugs.training_without_noise, bugs.audit_of_training, needs="torch"),
    Mutant("noise of the average gradient on the sum", bugs.noise_of_the_mean, bugs.audit_of_training, needs="torch"),
    Mutant("an attacker chosen on the samples that convict", bugs.audit_without_split, bugs.audit_of_nulls),
    Mutant("ties of scores in the order of the file", bugs.ties_in_order_of_the_file, bugs.audit_of_ties),
    Mutant(
        "the delta term of a one-run audit forgotten",
        bugs.delta_of_one_run_forgotten,
        "tests.auditing.test_one_run_vs_theorem:test_delta_costs",
    ),
    Mutant(
        "the delta term of all numbers of guesses forgotten",
        bugs.delta_of_all_numbers_forgotten,
        "tests.auditing.test_walks_vs_brute_force:test_leak_vs_worst_mechanism",
        (0.02, 0.5, 12),
    ),
    Mutant(
        "the best number of guesses chosen and not paid for",
        bugs.numbers_of_guesses_not_paid_for,
        "tests.auditing.test_walks_vs_brute_force:test_false_alarms_at_the_truth_of_a_tight_mechanism",
    ),
    Mutant(
        "a message of a library about a record passes",
        bugs.message_passes,
        "tests.releases.test_nothing_of_a_record_is_said:test_what_a_reader_raises_is_not_told",
    ),
    Mutant(
        "a sample of any number of records",
        bugs.population_unchecked,
        "tests.mechanisms.test_schemes_from_outside_are_checked:test_a_population_is_enforced",
    ),
    Mutant(
        "batches that are not accounted for",
        bugs.batches_unchecked,
        "tests.mechanisms.test_schemes_from_outside_are_checked:test_what_is_drawn_is_checked",
        ("too many batches",),
    ),
    Mutant(
        "one attacker's gain from choices of bounded range for everyone's",
        bugs.coins_for_choices,
        "tests.curves.test_ranged_choices_vs_brute_force:test_the_best_common_t_is_attained",
        (1.0, 4, 1.0, 0.145253767435, 0.094895111946),
    ),
    Mutant(
        "merged outcomes where the largest of them is",
        bugs.spike_raised,
        "tests.numerics.test_merged_outcomes_vs_exact_profiles:test_one_loss_is_below",
        ("gaussian, rare", 0.11),
    ),
    Mutant("natural filter", ledger_bugs.natural, f"{GAMES}:test_the_fixed_order_refuses_one_branch", ("natural",)),
    Mutant(
        "some order is still within its budget",
        ledger_bugs.some_order,
        f"{GAMES}:test_the_fixed_order_refuses_one_branch",
        ("some order",),
    ),
    Mutant(
        "an order chosen after seeing what is spent",
        ledger_bugs.order_of_each_release,
        ledger_bugs.games_at_a_fixed_order,
    ),
    Mutant(
        "a cost that is rounded down",
        ledger_bugs.cost_rounded_down,
        "tests.ledger.test_filters_vs_exact_plan:test_orders_and_costs_are_those_of_the_budget_alone",
    ),
    Mutant(
        "run first, deduct afterwards", ledger_bugs.deduct_afterwards, ledger_bugs.crash_in_the_draw, needs="sqlalchemy"
    ),
    Mutant("a failed release given back", ledger_bugs.refund, ledger_bugs.crash_in_the_draw, needs="sqlalchemy"),
    Mutant(
        "an analyst's budget with none of the dataset",
        ledger_bugs.analyst_without_dataset,
        ledger_bugs.an_analyst_within_a_dataset,
        needs="sqlalchemy",
    ),
    Mutant(
        "a key that stands for words alone",
        ledger_bugs.known_by_words_alone,
        ledger_bugs.one_key_for_two_prices,
        needs="sqlalchemy",
    ),
    Mutant(
        "two runs go on from one step",
        ledger_bugs.steps_only_grow,
        ledger_bugs.two_runs_from_one_step,
        needs="sqlalchemy",
    ),
    Mutant(
        "a checkpoint in its place before the book has it",
        ledger_bugs.file_before_book,
        ledger_bugs.a_book_that_cannot_be_written,
        needs="safetensors",
    ),
    Mutant(
        "fresh coins for a task that is tried again",
        bugs.coins_of_the_attempt,
        "tests.releases.test_local_engines_vs_arrow:test_chunks_do_not_decide_the_coins",
    ),
    Mutant(
        "users who change places when their table grows",
        bugs.users_moved_when_the_table_grows,
        "tests.releases.test_users_vs_dictionary:test_tables_that_grow",
        (5,),
    ),
    Mutant(
        "texts with one hash are one user",
        bugs.texts_of_one_hash_are_one_user,
        "tests.releases.test_users_vs_dictionary:test_texts_with_one_hash_stay_different",
    ),
    Mutant(
        "a window of ranks that forgets ties",
        bugs.windows_without_their_ties,
        "tests.releases.test_order_of_files_vs_memory:test_a_window_within_ties",
    ),
    Mutant("noise on every rank, then averaged", rank_bugs.on_every_rank("averaged_noise"), NOISE, (0,), "torch"),
    Mutant("no noise from an empty rank", rank_bugs.on_every_rank("silent_when_empty"), NOISE, (1,), "torch"),
    Mutant("a rank's coins repeated in noise", rank_bugs.on_every_rank("repeated_coins"), NOISE, (0,), "torch"),
    Mutant("a rank's coins repeated in draws", rank_bugs.on_every_rank("repeated_coins"), UNION, (), "torch"),
    Mutant("shares of the noise by rank", rank_bugs.on_every_rank("noise_before_the_sum"), NOISE, (0,), "torch"),
    Mutant("a training that every rank pays for", rank_bugs.on_every_rank("paid_by_every_rank"), PAID, (), "torch"),
    Mutant("a record on every rank", rank_bugs.on_every_rank("record_on_every_rank"), SUMS, (), "torch"),
    Mutant(
        "rows of a user clipped one by one", rank_bugs.rows_clipped_before_they_are_added, ONE_USER, ("sum",), "torch"
    ),
    Mutant(
        "what a row leaves in a model stays until the step ends",
        seam_bugs.state_stays_within_a_step,
        f"{LEFT}:test_one_row_moves_the_sum_by_one_norm",
        ("buffer", 1),
        "torch",
    ),
    Mutant(
        "norms from before what a row left was put back",
        seam_bugs.norms_of_what_is_put_back,
        f"{LEFT}:test_one_row_moves_the_sum_by_one_norm",
        ("buffer that a layer reads", 1),
        "torch",
    ),
    Mutant(
        "rows beside one that left something in the model",
        seam_bugs.rows_of_a_pass_that_left_something_count,
        f"{LEFT}:test_one_row_moves_the_sum_by_one_norm",
        ("observer", 64),
        "torch",
    ),
    Mutant(
        "rows that run again counted again",
        seam_bugs.rows_counted_again,
        f"{LEFT}:test_one_row_is_counted_once",
        (),
        "torch",
    ),
    Mutant(
        "every row a user",
        seam_bugs.every_row_a_user,
        f"{SEAMS}:test_equal_ids_are_one_user_however_they_are_given",
        (list,),
        "torch",
    ),
    Mutant(
        "records resumed as users",
        seam_bugs.records_whatever_the_unit,
        seam_bugs.in_a_new_folder("test_a_checkpoint_is_bound_to_its_unit"),
        (),
        "safetensors",
    ),
    Mutant(
        "users charged to a budget of records",
        seam_bugs.records_whatever_the_unit,
        seam_bugs.in_a_new_folder("test_users_are_charged_to_a_budget_of_users"),
        (),
        "torch",
    ),
    Mutant(
        "a plan with the epsilon of another",
        seam_bugs.bound_of_an_earlier_plan,
        f"{SEAMS}:test_a_plan_has_the_bound_of_its_mechanism",
        (),
        "torch",
    ),
    Mutant(
        "stated for a number of records, on cyclic parts",
        seam_bugs.any_number_of_records,
        f"{STATED}:test_random_parts_of_the_records",
        (hush.CyclicPoisson(1.0, 1000), hush.Gaussian(1.0).on(hush.CappedPoisson(1.0, 1, 1000))),
    ),
    Mutant(
        "stated for a number of records, in one of two releases",
        seam_bugs.any_number_in_one_of_two,
        f"{STATED}:test_one_of_two_releases",
        (hush.Gaussian(1.0).on(hush.CappedPoisson(1.0, 1, 1000)),),
    ),
    Mutant(
        "shuffled batches on a sample, beside another release",
        seam_bugs.sample_around_a_composition,
        f"{STATED}:test_shuffled_batches_of_a_sample",
        (hush.Gaussian(1.0).on(hush.ShuffledBatches(2)).then(hush.PureDP(1e-6)),),
    ),
    Mutant(
        "a lower end from bounds on the chances to be drawn",
        seam_bugs.listed_chances_are_attained,
        f"{STATED}:test_a_known_capped_sample_has_no_lower_end_that_is_not_attained",
    ),
    Mutant(
        "copies of a user with numbers of records of their own",
        seam_bugs.each_copy_a_user,
        f"{STATED}:test_a_user_in_several_places_has_one_number_of_records",
    ),
    Mutant(
        "copies that fill a pass counted",
        seam_bugs.copies_count,
        f"{SEAMS}:test_rows_that_fill_a_pass_are_not_counted",
        (),
        "torch",
    ),
    Mutant(
        "rows of one buffer are all the last one",
        seam_bugs.rows_of_one_buffer,
        f"{SEAMS}:test_rows_in_one_buffer_are_rows_of_their_own",
        (),
        "torch",
    ),
    Mutant(
        "what a user leaves in a model stays",
        seam_bugs.state_stays_within_a_step,
        f"{SEAMS}:test_what_a_user_leaves_in_a_model_moves_no_other_user",
        (),
        "torch",
    ),
    Mutant(
        "the winner of a search quotes the price of one run",
        seam_bugs.price_of_one_run,
        f"{SEARCH}:test_no_counter_tells_how_many_runs_there_were",
        (),
        "sklearn",
    ),
    Mutant(
        "a counter tells how many runs a search had",
        seam_bugs.every_run_counted,
        f"{SEARCH}:test_no_counter_tells_how_many_runs_there_were",
        (),
        "sklearn",
    ),
    Mutant("a count for free", rank_bugs.count_for_free, COUNTED, (0.8,), "torch"),
    Mutant(
        "a count with too little noise",
        rank_bugs.quiet_count,
        "tests.learning.dpsgd.test_norms_and_noise_that_change:test_a_count_that_the_plan_cannot_pay_for_is_refused",
        (0.1,),
        "torch",
    ),
    Mutant(
        "noise that fades accounted as constant",
        rank_bugs.last_noise_for_all,
        "tests.learning.dpsgd.test_norms_and_noise_that_change:test_noise_follows_both_schedules",
        (),
        "torch",
    ),
    Mutant(
        "the same direction used twice in a selection",
        selection_bugs.one_direction_twice,
        f"{SELECTION}:test_no_base_is_above_the_bound",
        (hush.GeometricRuns(0.05),),
    ),
    Mutant(
        "no run at all forgotten in a selection",
        selection_bugs.no_run_forgotten,
        f"{SELECTION}:test_no_base_is_above_the_bound",
        (hush.PoissonRuns(0.3),),
    ),
    Mutant(
        "the losing runs of a search shown",
        selection_bugs.losing_runs_shown,
        "tests.learning.tuning.test_private_search:test_neither_the_number_of_runs_nor_a_losing_run_is_kept",
    ),
    Mutant(
        "in a lower bound, small chances taken for none",
        selection_bugs.small_chances_are_none,
        f"{SELECTION}:test_the_lower_end_is_below_the_continuous_witness",
    ),
    Mutant(
        "the plain Poisson pair for a batch with a capacity",
        selection_bugs.capacity_as_poisson,
        "tests.mechanisms.test_capped_batches_vs_enumeration:test_plain_poisson_is_not_enough",
    ),
    Mutant(
        "for any number of records, batches of the fewest in each range",
        selection_bugs.emptier_batches,
        "tests.mechanisms.test_capped_batches_vs_enumeration:"
        "test_any_number_of_records_is_above_every_number_and_near_the_worst",
        (0.1, 12, 1.0, hush.Relation.ADD_REMOVE),
    ),
    Mutant(
        "candidates of a search tried in turn",
        selection_bugs.candidates_in_turn,
        "tests.learning.tuning.test_private_search:test_the_best_has_the_law_of_the_best",
    ),
    Mutant(
        "a cluster drawn and accounted for by record",
        selection_bugs.cluster_as_records,
        "tests.mechanisms.test_surveys_vs_enumeration:test_the_pure_loss_of_a_cluster_is_attained",
        (2,),
    ),
]
